package seriatim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// The command under test: what SERIATIM names, else the one that cargo built.
func TestMain(m *testing.M) {
	if os.Getenv("SERIATIM") == "" {
		built, _ := filepath.Abs("../target/debug/seriatim")
		if _, err := os.Stat(built); err != nil {
			fmt.Fprintln(os.Stderr, "there is no command to test: cargo build -p seriatim, or set SERIATIM")
			os.Exit(1)
		}
		os.Setenv("SERIATIM", built)
	}
	os.Exit(m.Run())
}

// A shared history of the repository, and its verdict where the manifest tells it.
type shared struct{ path, spec, verdict string }

func histories(t *testing.T) []shared {
	t.Helper()
	var all []shared
	manifest, err := os.ReadFile("../testdata/manifest.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(manifest)), "\n")[1:] {
		fields := strings.Split(line, "\t")
		all = append(all, shared{filepath.Join("../testdata", fields[0]), fields[1], fields[2]})
	}
	examples, err := filepath.Glob("../examples/histories/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range examples {
		if filepath.Ext(path) != ".md" {
			all = append(all, shared{path, "", ""})
		}
	}
	if len(all) < 100 {
		t.Fatalf("only %d histories", len(all))
	}
	return all
}

// The report less timing, and less the name of its source.
func comparable(t *testing.T, report []byte) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(report, &fields); err != nil {
		t.Fatalf("%v: %s", err, report)
	}
	delete(fields["statistics"].(map[string]any), "elapsed_seconds")
	delete(fields, "source")
	return fields
}

func TestEveryHistoryHasTheVerdictAndTheReportOfTheCommand(t *testing.T) {
	for _, history := range histories(t) {
		// One thread: which of two engines is first is no part of the report's meaning.
		arguments := []string{"--threads", "1"}
		if history.spec != "" {
			arguments = append(arguments, "--spec", history.spec)
		}
		var out bytes.Buffer
		told := append(append([]string{"check", "--json"}, arguments...), history.path)
		command := exec.Command(os.Getenv("SERIATIM"), told...)
		command.Stdout = &out
		_ = command.Run()
		contents, err := os.ReadFile(history.path)
		if err != nil {
			t.Fatal(err)
		}
		inputs := []Input{Text(contents)}
		if history.verdict == "" {
			inputs = append(inputs, File(history.path))
		}
		for _, input := range inputs {
			report, err := Check(context.Background(), input, Arguments(arguments...))
			if err != nil {
				t.Fatalf("%s: %v", history.path, err)
			}
			if history.verdict != "" && string(report.Verdict) != history.verdict {
				t.Errorf("%s: %s instead of %s", history.path, report.Verdict, history.verdict)
			}
			if !reflect.DeepEqual(comparable(t, report.Raw), comparable(t, out.Bytes())) {
				t.Errorf("%s:\n%s\nis not\n%s", history.path, report.Raw, out.Bytes())
			}
		}
	}
}

// Operations of our own JSON Lines, as a program would hold them.
func operations(t *testing.T, path string) History {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var history History
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var line struct {
			Op                                      string
			Process, Object, Key, Arg, Result, Note json.RawMessage
			Call                                    int64
			Return                                  *int64
			Failed                                  bool
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Op == "" {
			continue // the header
		}
		operation := Operation{Op: line.Op, Call: line.Call, Failed: line.Failed, Pending: line.Return == nil}
		if line.Return != nil {
			operation.Return = *line.Return
		}
		for field, value := range map[*any]json.RawMessage{
			&operation.Process: line.Process, &operation.Object: line.Object, &operation.Key: line.Key,
			&operation.Arg: line.Arg, &operation.Result: line.Result, &operation.Note: line.Note,
		} {
			if value != nil {
				*field = value
			}
		}
		history = append(history, operation)
	}
	return history
}

func TestOperationsInMemoryHaveTheVerdictOfTheirFile(t *testing.T) {
	count := 0
	for _, shared := range histories(t) {
		if !strings.Contains(shared.path, "generated") && !strings.Contains(shared.path, "servers") {
			continue
		}
		history := operations(t, shared.path)
		report, err := Check(context.Background(), history, Spec(shared.spec))
		if err != nil {
			t.Fatalf("%s: %v", shared.path, err)
		}
		if string(report.Verdict) != shared.verdict {
			t.Errorf("%s: %s instead of %s", shared.path, report.Verdict, shared.verdict)
		}
		count++
	}
	if count < 70 {
		t.Fatalf("only %d histories", count)
	}
}

// A test that remembers how it failed.
type remembering struct {
	*testing.T
	failure string
}

func (r *remembering) Fatalf(format string, values ...any) {
	r.failure = fmt.Sprintf(format, values...)
}

func overtaken() *Recorder {
	r := NewRecorder()
	r.Call("ann", "enqueue", 1).Return()
	r.Call("ann", "enqueue", 2).Return()
	r.Call("bob", "dequeue").Return(2)
	return r
}

func TestAViolationFailsTheTestWithADrawingAndAPage(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("SERIATIM_REPORTS", folder)
	failing := &remembering{T: t}
	RequireLinearizable(failing, overtaken(), Spec("queue"))
	for _, expected := range []string{"VIOLATION", "┣━ dequeue → 2 ━┫", "cannot dequeue 2: the front is 1", folder} {
		if !strings.Contains(failing.failure, expected) {
			t.Errorf("no %q in\n%s", expected, failing.failure)
		}
	}
	page, err := os.ReadFile(filepath.Join(folder, t.Name()+".html"))
	if err != nil || !bytes.Contains(page, []byte("</html>")) {
		t.Errorf("no page: %v", err)
	}
}

func TestWhatIsNotKnownIsNoPass(t *testing.T) {
	failing := &remembering{T: t}
	t.Setenv("SERIATIM_REPORTS", t.TempDir())
	RequireLinearizable(failing, overtaken(), pretending(t, `echo '{"verdict":"unknown","reason":"no time"}'; exit 3`))
	if !strings.Contains(failing.failure, "unknown") {
		t.Errorf("it passed, or said %q", failing.failure)
	}
}

func TestALinearizableHistoryPassesWithItsOrder(t *testing.T) {
	r := NewRecorder()
	r.Call(0, "put", "v").On("k").Return()
	r.Call(1, "get").On("k").Return("v")
	r.Call(1, "get").On("other").Return(nil)
	r.Call(2, "put", "w").On("k") // pending
	report := RequireLinearizable(t, r, Spec("map"))
	if !reflect.DeepEqual(report.Witness.Order, []int{0, 1, 2}) || report.Operations.Pending != 1 {
		t.Errorf("%s", report.Raw)
	}
}

func TestFailuresAndSeveralArguments(t *testing.T) {
	r := NewRecorder()
	r.Call(0, "write", 1).Return()
	r.Call(0, "cas", 1, 2).Fail()
	dropped, err := Check(context.Background(), r, Spec("cas-register"))
	if err != nil || dropped.Verdict != Linearizable {
		t.Errorf("%v %v", dropped, err)
	}
	observed, err := Check(context.Background(), r, Spec("cas-register"), ObserveFailures())
	if err != nil || observed.Verdict != Violation {
		t.Errorf("%v %v", observed, err)
	}
}

func TestASpecificationInTheAlgorithmLanguage(t *testing.T) {
	const tickets = `spec tickets {
  var next: int = 0
  method take() -> int {
    next = next + 1
    return next - 1
  }
}
`
	for result, verdict := range map[int]Verdict{0: Linearizable, 7: Violation} {
		r := NewRecorder()
		r.Call(0, "take").Return(result)
		report, err := Check(context.Background(), r, Seri(tickets))
		if err != nil || report.Verdict != verdict {
			t.Errorf("%d: %v %v", result, report, err)
		}
	}
}

func TestBadInputIsAnErrorWithTheCommandsMessage(t *testing.T) {
	for expected, check := range map[string]func() (*Report, error){
		"<stdin>:1:": func() (*Report, error) {
			return Check(context.Background(), Text("nonsense\n"))
		},
		"no/such/file": func() (*Report, error) {
			return Check(context.Background(), File("no/such/file"))
		},
		"quue": func() (*Report, error) { return Check(context.Background(), overtaken(), Spec("quue")) },
		"--all-in": func() (*Report, error) {
			return Check(context.Background(), overtaken(), Arguments("--all-in"))
		},
	} {
		report, err := check()
		var input *InputError
		if report != nil || !errors.As(err, &input) || !strings.Contains(input.Message, expected) {
			t.Errorf("%s: %v, %v", expected, report, err)
		}
	}
	_, err := Check(context.Background(), History{{Op: "enqueue", Arg: make(chan int)}})
	if err == nil || !strings.Contains(err.Error(), "operation 0 (enqueue)") {
		t.Errorf("%v", err)
	}
}

// A command that does as told, to see that nothing it does becomes a verdict.
func pretending(t *testing.T, script string) Option {
	path := filepath.Join(t.TempDir(), "seriatim")
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncat >/dev/null\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return Command(path)
}

func TestACommandThatMisbehavesYieldsNoVerdict(t *testing.T) {
	for _, script := range []string{
		"exit 0", "exit 101", "kill -9 $$", "echo nonsense; exit 1", "echo '{}'; exit 0",
		`echo '{"verdict":"linearizable"}'; exit 1`, `echo '{"verdict":"violation"}'; exit 0`,
		`echo '{"verdict":"linearizable"}{"verdict":"linearizable"}'; exit 0`,
	} {
		if report, err := Check(context.Background(), overtaken(), pretending(t, script)); err == nil {
			t.Errorf("%s: %s", script, report.Verdict)
		}
	}
	if _, err := Check(context.Background(), overtaken(), Command("/no/such/command")); err == nil {
		t.Error("no command, no error")
	}
}

func TestAContextThatEndsStopsTheCommand(t *testing.T) {
	sleeping := filepath.Join(t.TempDir(), "sleeping")
	// The second one is a script that waits for the real command, which is not killed with it.
	for _, script := range []string{"echo $$ >" + sleeping + "; exec sleep 600", "sleep 600 & echo $! >" + sleeping + "; wait"} {
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			for text, _ := os.ReadFile(sleeping); len(text) == 0; text, _ = os.ReadFile(sleeping) {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		_, err := Check(ctx, overtaken(), pretending(t, script))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", script, err)
		}
		_ = exec.Command("sh", "-c", "kill $(cat "+sleeping+")").Run()
		os.Remove(sleeping)
	}
}

type hidden struct{ value int }

type shown struct{ value int }

func (s shown) MarshalJSON() ([]byte, error) { return json.Marshal(s.value) }

type number int

type Named struct{ ID int }

type Other struct{ ID int }

type stamped struct {
	time.Time
	ID int
}

// JSON would write the one as the other, and an object that mixes them up would pass.
func TestValuesThatJSONDoesNotTellApartAreRefused(t *testing.T) {
	for _, pair := range [][2]any{
		{"a\xff", "a\xfe"}, {[]string{"\xff"}, []string{"\xfe"}}, {map[string]int{"\xff": 1}, map[string]int{"\xfe": 1}},
		{hidden{1}, hidden{2}}, {&hidden{1}, &hidden{2}}, {[]any{1, hidden{1}}, []any{1, hidden{2}}},
		{errors.New("full"), errors.New("closed")}, {struct{ hidden }{hidden{1}}, struct{ hidden }{hidden{2}}},
		{struct{ number }{1}, struct{ number }{2}}, {&stamped{ID: 1}, &stamped{ID: 2}},
		{struct {
			Named
			ID int
		}{Named{1}, 3}, struct {
			Named
			ID int
		}{Named{2}, 3}},
		{struct {
			Named
			*Other
		}{Named{1}, &Other{3}}, struct {
			Named
			*Other
		}{Named{2}, &Other{3}}},
	} {
		r := NewRecorder()
		r.Call(0, "enqueue", pair[0]).Return()
		r.Call(0, "dequeue").Return(pair[1])
		for _, input := range []Input{r, History{{Op: "enqueue", Arg: pair[0]}, {Op: "dequeue", Result: pair[1], Call: 1, Return: 2}}} {
			report, err := Check(context.Background(), input, Spec("queue"))
			if err == nil || !strings.Contains(err.Error(), "operation 0 (enqueue): arg: ") {
				t.Errorf("%v: %v %v", pair, report, err)
			}
		}
	}
	for _, pair := range [][2]any{
		{[]byte{255}, []byte{254}}, {shown{1}, shown{2}}, {"\ufffd", "?"}, {struct{ A any }{"a"}, struct{ A any }{"b"}},
		{[1]int{1}, [1]int{2}}, {map[int]string{1: "a"}, map[int]string{1: "b"}},
		{struct{ Named }{Named{1}}, struct{ Named }{Named{2}}}, {struct{ *Named }{}, struct{ *Named }{&Named{}}}, {struct{ time.Time }{}, struct{ time.Time }{time.Unix(1, 0)}},
	} {
		for result, verdict := range map[int]Verdict{0: Linearizable, 1: Violation} {
			r := NewRecorder()
			r.Call(0, "enqueue", pair[0]).Return()
			r.Call(0, "dequeue").Return(pair[result])
			report, err := Check(context.Background(), r, Spec("queue"))
			if err != nil || report.Verdict != verdict {
				t.Errorf("%v: %v %v", pair, report, err)
			}
		}
	}
}

func TestARecordedValueIsWhatItWasThen(t *testing.T) {
	r, buffer := NewRecorder(), []int{1}
	r.Call(0, "enqueue", buffer).Return()
	buffer[0] = 2
	r.Call(0, "dequeue").Return(buffer)
	report, err := Check(context.Background(), r, Spec("queue"))
	if err != nil || report.Verdict != Violation {
		t.Errorf("%v %v", report, err)
	}
}

func TestGoroutinesAreRecordedTogether(t *testing.T) {
	var lock sync.Mutex
	var waiting sync.WaitGroup
	r, count := NewRecorder(), 0
	for process := 0; process < 8; process++ {
		waiting.Add(1)
		go func(process int) {
			defer waiting.Done()
			for i := 0; i < 50; i++ {
				op := r.Call(process, "fetch_add", 1)
				lock.Lock()
				before := count
				count++
				lock.Unlock()
				op.Return(before)
			}
		}(process)
	}
	waiting.Wait()
	report := RequireLinearizable(t, r, Spec("fetch-and-add"))
	if report.Operations.Total != 400 {
		t.Errorf("%d operations", report.Operations.Total)
	}
}

// What a check costs beside the work itself: the command is started once.
func BenchmarkCheck(b *testing.B) {
	history := overtaken().History()
	for i := 0; i < b.N; i++ {
		if _, err := Check(context.Background(), history, Spec("queue")); err != nil {
			b.Fatal(err)
		}
	}
}
