package seriatim

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// A Verdict says whether a history is linearizable.
type Verdict string

const (
	Linearizable Verdict = "linearizable" // an order was found, and replayed by independent code
	Violation    Verdict = "violation"    // there is none
	Unknown      Verdict = "unknown"      // a limit was reached
)

// A Report is what the command says of a history. Its fields are those of the JSON report.
type Report struct {
	Verdict    Verdict `json:"verdict"`
	Source     string  `json:"source"`
	Spec       string  `json:"spec"`
	Operations struct {
		Total   int `json:"total"`
		Ok      int `json:"ok"`
		Failed  int `json:"failed"`
		Pending int `json:"pending"`
	} `json:"operations"`
	Warnings []string `json:"warnings"`
	Notes    []string `json:"notes"`
	// The order that shows that the history is linearizable.
	Witness *struct {
		Order []int `json:"order"` // operations by the order of their calls, from 0
		Lines []int `json:"lines"`
	} `json:"witness"`
	// The part of the history that no order explains.
	Counterexample *Counterexample `json:"counterexample"`
	// What ran out.
	Undecided *struct {
		Limit string   `json:"limit"`
		Open  []string `json:"open"`
	} `json:"unknown"`
	// Why there is nothing but a verdict: the command was stopped before it had read the history.
	Reason string `json:"reason"`
	// The whole report, as the command printed it.
	Raw json.RawMessage `json:"-"`

	question question
	given    given
}

// A Counterexample is a part of a history that no order explains.
type Counterexample struct {
	Operations []struct {
		ID      int             `json:"id"`
		Process json.RawMessage `json:"process"`
		Text    string          `json:"text"` // dequeue() -> 2
		Line    int             `json:"line"`
		Outcome string          `json:"outcome"`
	} `json:"operations"`
	Explanation struct {
		Sentence string `json:"sentence"`
	} `json:"explanation"`
}

// Linearizable is whether the history is linearizable. If not, it may be violated or unknown.
func (r *Report) Linearizable() bool { return r.Verdict == Linearizable }

// Text is the report for people: a violation is drawn, with the reason why every order fails. The
// command is asked once more for it.
func (r *Report) Text(ctx context.Context) (string, error) {
	ran, err := r.again(ctx, "--color", "never")
	return string(ran.out), err
}

// WriteHTML writes the report as a page that any browser opens.
func (r *Report) WriteHTML(ctx context.Context, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	_, err := r.again(ctx, "--html", path)
	return err
}

// again asks the command once more, for another form of the same report.
func (r *Report) again(ctx context.Context, output ...string) (run, error) {
	ran, err := r.question.run(ctx, r.given, output...)
	if err != nil {
		return run{}, err
	}
	codes := map[int]Verdict{exitHolds: Linearizable, exitViolated: Violation, exitUnknown: Unknown}
	if codes[ran.code] != r.Verdict {
		return run{}, fmt.Errorf("seriatim said %s first and %s the second time", r.Verdict, codes[ran.code])
	}
	return ran, nil
}
