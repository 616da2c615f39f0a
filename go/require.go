package seriatim

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A T is a [*testing.T], a [*testing.B] or a [*testing.F].
type T interface {
	Helper()
	Name() string
	Logf(format string, values ...any)
	Fatalf(format string, values ...any)
}

// RequireLinearizable fails a test whose history is not linearizable, or not known to be: with the
// drawing of the smallest part that shows it, and with a page in the folder that the environment
// variable SERIATIM_REPORTS names, or in seriatim in the system's folder for temporary files. If the
// test has a deadline, the check ends before it.
func RequireLinearizable(t T, history Input, options ...Option) *Report {
	t.Helper()
	ctx, cancel := within(t)
	defer cancel()
	report, err := Check(ctx, history, options...)
	if err != nil {
		t.Fatalf("seriatim: %v", err)
		return nil
	}
	for _, warning := range report.Warnings {
		t.Logf("seriatim: warning: %s", warning)
	}
	if report.Linearizable() {
		return report
	}
	text, err := report.Text(ctx)
	if err != nil {
		text = string(report.Raw) + "\n(" + err.Error() + ")"
	}
	page := pageOf(t)
	if err := report.WriteHTML(ctx, page); err != nil {
		page = "not written: " + err.Error()
	}
	t.Fatalf("\n%s\npage: %s", strings.TrimRight(text, "\n"), page)
	return report
}

// within is a context that ends a little before the test has to.
func within(t T) (context.Context, context.CancelFunc) {
	const rest = time.Second
	limited, hasDeadline := t.(interface{ Deadline() (time.Time, bool) })
	if hasDeadline {
		if deadline, isSet := limited.Deadline(); isSet {
			return context.WithDeadline(context.Background(), deadline.Add(-rest))
		}
	}
	return context.WithCancel(context.Background())
}

// pageOf is where the page of a test is written.
func pageOf(t T) string {
	folder := os.Getenv("SERIATIM_REPORTS")
	if folder == "" {
		folder = filepath.Join(os.TempDir(), "seriatim")
	}
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, r) {
			return '-'
		}
		return r
	}, t.Name())
	return filepath.Join(folder, name+".html")
}
