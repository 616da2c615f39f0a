//go:build seriatim_cgo

package model

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// A counter whose increments return the count before them.
var counter = Model{
	Init:              func() any { return 0 },
	Step:              func(_ context.Context, s, _, o any) (bool, any) { return s.(int) == o.(int), s.(int) + 1 },
	DescribeOperation: func(_, o any) string { return fmt.Sprintf("increment() -> %v", o) },
	DescribeState:     func(s any) string { return fmt.Sprint(s) },
}

// Groups of 8 overlapping increments with results in reverse.
func increments(n int) []Operation {
	var operations []Operation
	for i := 0; i < n; i++ {
		g, k := int64(i/8), int64(i%8)
		operations = append(operations, Operation{Output: int(g*8 + 7 - k), Call: g*100 + k - 1000, Return: g*100 + 50 + k - 1000})
	}
	return operations
}

func check(t *testing.T, model Model, operations []Operation, detail Detail) Report {
	t.Helper()
	report, err := Check(context.Background(), model, operations, detail)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestVerdicts(t *testing.T) {
	operations := increments(800)
	if report := check(t, counter, operations, Plain); report.Verdict != Linearizable {
		t.Errorf("%v", report)
	}
	operations[799].Output = 5
	for _, detail := range []Detail{Plain, Drawn} {
		report := check(t, counter, operations, detail)
		if report.Verdict != Violation || (detail == Drawn) != strings.Contains(report.Text, "increment → 799") {
			t.Errorf("%v", report)
		}
	}
	if report := check(t, counter, nil, Drawn); report.Verdict != Linearizable {
		t.Errorf("%v", report)
	}
}

func TestStatesOfTheirOwnEquality(t *testing.T) {
	// A log: slices are not comparable with ==.
	log := Model{
		Init: func() any { return []int{} },
		Step: func(_ context.Context, s, i, o any) (bool, any) {
			if i == nil {
				return reflect.DeepEqual(s, o), s
			}
			return true, append(append([]int{}, s.([]int)...), i.(int))
		},
		Equal: reflect.DeepEqual,
	}
	operations := []Operation{{Input: 1, Call: 0, Return: 10}, {Input: 2, Call: 0, Return: 10}, {Output: []int{2, 1}, Call: 11, Return: 12}}
	if report := check(t, log, operations, Plain); report.Verdict != Linearizable {
		t.Errorf("%v", report)
	}
	operations[2].Output = []int{2, 2}
	if report := check(t, log, operations, Drawn); report.Verdict != Violation {
		t.Errorf("%v", report)
	}
}

func TestAPanicIsAPanic(t *testing.T) {
	broken := counter
	broken.Step = func(context.Context, any, any, any) (bool, any) { panic("on purpose") }
	defer func() {
		if said := recover(); said != "on purpose" {
			t.Errorf("%v", said)
		}
	}()
	_, _ = Check(context.Background(), broken, increments(8), Plain)
	t.Error("it went on")
}

func TestALieIsAnError(t *testing.T) {
	lying, count := counter, 0
	lying.Step = func(context.Context, any, any, any) (bool, any) { count++; return true, count }
	if report, err := Check(context.Background(), lying, increments(8), Plain); err == nil || report.Verdict != Unknown {
		t.Errorf("%v %v", report, err)
	}
}

func TestAContextThatEndsIsNoVerdict(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	slow := counter
	slow.Step = func(ctx context.Context, s, _, o any) (bool, any) {
		time.Sleep(time.Millisecond)
		return s.(int) == o.(int), s.(int) + 1
	}
	report, err := Check(ctx, slow, increments(8000), Drawn)
	if err != nil || report.Verdict != Unknown {
		t.Errorf("%v %v", report, err)
	}
}

func TestAModelThatChangesItsStatesIsAnError(t *testing.T) {
	inPlace := func(_ context.Context, s, _, o any) (bool, any) {
		count := s.(*int)
		*count++
		return *count > o.(int), count
	}
	byPointer := Model{Init: func() any { return new(int) }, Step: inPlace}
	byEqual := byPointer
	byEqual.Init = func() any { return map[string]int{} }
	byEqual.Equal = reflect.DeepEqual
	byEqual.Step = func(_ context.Context, s, _, o any) (bool, any) {
		s.(map[string]int)["count"]++
		return true, s
	}
	byHash := byEqual
	byHash.Hash = func(s any) uint64 { return uint64(s.(map[string]int)["count"]) }
	// A queue behind a pointer, which itself remains as it is.
	type node struct {
		value any
		next  *node
	}
	type queue struct{ first *node }
	inside := byPointer
	inside.Init = func() any { return queue{&node{}} }
	inside.Step = func(_ context.Context, s, _, o any) (bool, any) {
		last := s.(queue).first
		for last.next != nil {
			last = last.next
		}
		last.next = &node{value: o}
		return true, s
	}
	within := inside
	within.Equal = func(a, b any) bool { return a == b }
	models := map[string]Model{"pointer": byPointer, "equal": byEqual, "hash": byHash, "inside": inside, "within": within}
	for name, model := range models {
		report, err := Check(context.Background(), model, increments(8), Plain)
		if err == nil || !strings.Contains(err.Error(), "no function") && !strings.Contains(err.Error(), "in place") {
			t.Errorf("%s: %v %v", name, report, err)
		}
	}
}

func TestLooksTellWhatIsBehindPointersAndEndInCircles(t *testing.T) {
	type node struct {
		value any
		next  *node
	}
	circle := &node{value: 1}
	circle.next = circle
	one, other := &node{1, &node{2, nil}}, &node{1, &node{2, nil}}
	entries := map[string][]int{"a": {1}, "b": {2}, "c": nil}
	again := map[string][]int{"c": nil, "b": {2}, "a": {1}}
	// The entries of a cache, which are in a ring as well: in whatever order they are met, they look the same.
	cache := map[int]*node{}
	for i := 0; i < 20; i++ {
		cache[i] = &node{value: i, next: circle}
	}
	cache[0].next, circle.value = cache[19], cache
	zero := 0.0
	same := [][2]any{{one, other}, {entries, again}, {circle, circle}, {cache, cache}, {zero, -zero}, {nil, nil}, {time.Unix(5, 0), time.Unix(5, 0).UTC()}}
	for i := range [100]int{} {
		pair := same[i%len(same)]
		if looks(pair[0]) != looks(pair[1]) {
			t.Errorf("pair %d looks different", i%len(same))
		}
	}
	different := []any{nil, 0, int64(1), "", "1", []int{}, []int{0}, [1]int{1}, cache, circle, one, entries, map[string][]int{"a": {2}, "b": {1}, "c": nil},
		&node{1, &node{3, nil}}, [2]string{"a", "bc"}, [2]string{"ab", "c"}, struct{ a any }{1}, struct{ a any }{uint(1)}, 1i, true}
	for i, a := range different {
		for j, b := range different[:i] {
			if looks(a) == looks(b) {
				t.Errorf("values %d and %d look the same", j, i)
			}
		}
	}
}

func TestTimesThatMakeNoSense(t *testing.T) {
	spanning := []Operation{{Output: 0, Call: -1 << 63, Return: 1<<63 - 1}, {Output: 5, Call: 0, Return: 1}}
	backwards := []Operation{{Output: 0, Call: 5, Return: 3}}
	for _, operations := range [][]Operation{spanning, backwards} {
		if report, err := Check(context.Background(), counter, operations, Plain); err == nil || report.Verdict != Unknown {
			t.Errorf("%v: %v %v", operations, report, err)
		}
	}
}

func TestAModelThatAsksAboutItselfIsAnError(t *testing.T) {
	endless, depth := counter, 0
	endless.Step = func(ctx context.Context, s, i, o any) (bool, any) {
		depth++
		if _, err := Check(ctx, endless, increments(8), Plain); err != nil {
			panic(err)
		}
		return counter.Step(ctx, s, i, o)
	}
	defer func() {
		if said := recover(); depth > 100 || !strings.Contains(fmt.Sprint(said), "deep") {
			t.Errorf("%v at depth %d", said, depth)
		}
	}()
	_, _ = Check(context.Background(), endless, increments(8), Plain)
	t.Error("it went on")
}

func TestAModelThatEndsItsGoroutineHarmsNobodyElse(t *testing.T) {
	ending := counter
	ending.Step = func(context.Context, any, any, any) (bool, any) { runtime.Goexit(); return true, nil }
	for round := 0; round < 40; round++ {
		ended := make(chan bool)
		go func() {
			defer close(ended)
			_, _ = Check(context.Background(), ending, increments(8), Plain)
			t.Error("it went on")
		}()
		<-ended
		if report := check(t, counter, increments(8), Plain); report.Verdict != Linearizable {
			t.Fatalf("after %d: %v", round, report)
		}
	}
}

func TestAModelMayAskAboutAnother(t *testing.T) {
	nested := counter
	nested.Step = func(ctx context.Context, s, i, o any) (bool, any) {
		report, err := Check(ctx, counter, increments(8), Drawn)
		if err != nil || report.Verdict != Linearizable {
			t.Errorf("%v %v", report, err)
		}
		return counter.Step(ctx, s, i, o)
	}
	if report := check(t, nested, increments(8), Drawn); report.Verdict != Linearizable {
		t.Errorf("%v", report)
	}
}

func TestManyAskAtOnce(t *testing.T) {
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func(isRight bool) {
			defer group.Done()
			operations, expected := increments(80), Linearizable
			if !isRight {
				operations[79].Output, expected = 5, Violation
			}
			for round := 0; round < 20; round++ {
				if report, err := Check(context.Background(), counter, operations, Drawn); err != nil || report.Verdict != expected {
					t.Errorf("%v %v", report, err)
				}
			}
		}(i%2 == 0)
	}
	group.Wait()
}
