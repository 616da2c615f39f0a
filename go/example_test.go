package seriatim_test

import (
	"context"
	"fmt"
	"os"
	"seriatim"
	"strings"
	"testing"
)

func Example() {
	history := seriatim.History{
		{Process: "ann", Op: "enqueue", Arg: 1, Call: 0, Return: 20},
		{Process: "ann", Op: "enqueue", Arg: 2, Call: 30, Return: 60},
		{Process: "bob", Op: "dequeue", Result: 2, Call: 40, Return: 80},
	}
	report, err := seriatim.Check(context.Background(), history, seriatim.Spec("queue"))
	if err != nil {
		panic(err) // bad input, or no command: never a verdict
	}
	fmt.Println(report.Verdict)
	for _, operation := range report.Counterexample.Operations {
		fmt.Println(operation.Text)
	}
	// Output:
	// violation
	// enqueue(1)
	// enqueue(2)
	// dequeue() -> 2
}

func TestQueue(t *testing.T) {
	queue := make(chan int, 8)
	r := seriatim.NewRecorder()
	done := make(chan bool)
	go func() {
		defer close(done)
		op := r.Call("producer", "enqueue", 7)
		queue <- 7
		op.Return()
	}()
	op := r.Call("consumer", "dequeue")
	op.Return(<-queue)
	<-done
	seriatim.RequireLinearizable(t, r, seriatim.Spec("queue"))
}

// The code of the book is the code above.
func TestTheBookShowsTheseExamples(t *testing.T) {
	page, err := os.ReadFile("../docs/go.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("%d examples", len(blocks))
	}
	for _, block := range blocks {
		code := strings.Split(block, "```")[0]
		if !strings.Contains(string(source), code) {
			t.Errorf("no test has\n%s", code)
		}
	}
}
