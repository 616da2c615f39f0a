// Package seriatim tells whether a concurrent object is linearizable: whether its operations, however
// they overlap in time, could have happened one after another in an order that respects real time.
//
// It is a client of the command seriatim and needs neither cgo nor any other module. The command is
// what [Command] names, else what the environment variable SERIATIM names, else the seriatim on the
// PATH.
//
//	r := seriatim.NewRecorder()
//	op := r.Call(worker, "enqueue", 7)
//	queue.Enqueue(7)
//	op.Return()
//	…
//	seriatim.RequireLinearizable(t, r, seriatim.Spec("queue"))
//
// A verdict is either linearizable, with the order that shows it, or a violation, with the smallest
// part of the history that no order explains, or unknown, if a limit was reached. It is never guessed:
// what the command refuses to read is an [*InputError], and everything else that goes wrong is an
// error as well.
package seriatim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrNoCommand says that there is no command seriatim to ask.
var ErrNoCommand = errors.New("the command seriatim was not found: " +
	"install it with `cargo install --path crates/seriatim` in a clone of Seriatim, or name it in the environment variable SERIATIM")

// An InputError is what the command says of a history, a specification or an option that it cannot
// read: what is wrong, where, and what was expected. No verdict was given.
type InputError struct {
	Message string
}

func (e *InputError) Error() string { return e.Message }

// An Option says how to check.
type Option func(*question)

type question struct {
	command   string
	arguments []string
	seri      string
}

// Spec names the specification: queue, cas-register(init=0), … as `seriatim specs` lists them, or a
// file FILE.seri or FILE.seri#NAME. Without it the history's own header counts, or what all
// specifications that can read the history agree on.
func Spec(name string) Option { return argument("--spec", name) }

// Seri is a specification in the algorithm language, as text.
func Seri(source string) Option {
	return func(q *question) { q.seri = source }
}

// Time limits how long the command may look; what it does not decide in that time is unknown. A
// context that ends kills the command instead, and there is no verdict at all.
func Time(limit time.Duration) Option {
	seconds := strconv.FormatFloat(limit.Seconds(), 'f', -1, 64)
	return argument("--time=" + seconds + "s")
}

// Memory limits the memory of the command, in bytes.
func Memory(bytes int64) Option { return argument("--memory=" + strconv.FormatInt(bytes, 10)) }

// Threads is the number of threads that the command may use.
func Threads(number int) Option { return argument("--threads=" + strconv.Itoa(number)) }

// ObserveFailures says that a failed operation saw that its condition did not hold (a cas that met
// another value). Otherwise a failed operation did not happen.
func ObserveFailures() Option { return argument("--failures", "observe") }

// Command is the command to run.
func Command(path string) Option {
	return func(q *question) { q.command = path }
}

// Arguments are further arguments of `seriatim check`, as they are.
func Arguments(arguments ...string) Option { return argument(arguments...) }

func argument(arguments ...string) Option {
	return func(q *question) { q.arguments = append(q.arguments, arguments...) }
}

// Check decides whether a history is linearizable: a [History], a [*Recorder], a [Text] or a [File].
func Check(ctx context.Context, history Input, options ...Option) (*Report, error) {
	q := question{}
	for _, option := range options {
		option(&q)
	}
	given, err := history.given()
	if err != nil {
		return nil, err
	}
	ran, err := q.run(ctx, given, "--json")
	if err != nil {
		return nil, err
	}
	report, err := ran.report()
	if err != nil {
		return nil, err
	}
	report.question, report.given = q, given
	return report, nil
}

// run asks the command about a history.
func (q question) run(ctx context.Context, history given, output ...string) (run, error) {
	path, err := q.path()
	if err != nil {
		return run{}, err
	}
	arguments := append([]string{"check"}, q.arguments...)
	if q.seri != "" {
		folder, err := os.MkdirTemp("", "seriatim")
		if err != nil {
			return run{}, err
		}
		defer os.RemoveAll(folder)
		file := filepath.Join(folder, "spec.seri")
		if err := os.WriteFile(file, []byte(q.seri), 0o600); err != nil {
			return run{}, err
		}
		arguments = append(arguments, "--spec", file)
	}
	arguments = append(append(arguments, output...), "--", history.name())
	ran, err := execute(ctx, history.text, path, arguments...)
	if ctx.Err() != nil {
		return run{}, fmt.Errorf("seriatim was stopped: %w", ctx.Err())
	}
	if err != nil {
		return run{}, fmt.Errorf("%s: %w", path, err)
	}
	return ran, ran.complaint()
}

func (q question) path() (string, error) {
	for _, path := range []string{q.command, os.Getenv("SERIATIM")} {
		if path != "" {
			return path, nil
		}
	}
	path, err := exec.LookPath("seriatim")
	if err != nil {
		return "", ErrNoCommand
	}
	return path, nil
}

// The exit codes of the command.
const (
	exitHolds = iota
	exitViolated
	exitBadInput
	exitUnknown
)

// complaint is the error of a run without verdict.
func (r run) complaint() error {
	switch r.code {
	case exitHolds, exitViolated, exitUnknown:
		return nil
	case exitBadInput:
		message := strings.TrimSpace(r.errors)
		return &InputError{strings.TrimPrefix(message, "error: ")}
	default:
		return fmt.Errorf("seriatim ended with %d and without a verdict: %s", r.code, strings.TrimSpace(r.errors))
	}
}

// report reads the JSON report. The exit code has to say the same as the report: two signs of one
// verdict that differ are no verdict.
func (r run) report() (*Report, error) {
	report := &Report{Raw: bytes.TrimSpace(r.out)}
	if err := json.Unmarshal(report.Raw, report); err != nil {
		return nil, fmt.Errorf("seriatim gave no report (%v): %s", err, strings.TrimSpace(r.errors))
	}
	codes := map[Verdict]int{Linearizable: exitHolds, Violation: exitViolated, Unknown: exitUnknown}
	if code, isKnown := codes[report.Verdict]; !isKnown || code != r.code {
		return nil, fmt.Errorf("seriatim reports %q and ends with %d: no verdict", report.Verdict, r.code)
	}
	return report, nil
}
