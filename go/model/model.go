//go:build seriatim_cgo

// Package model checks histories under a sequential model that is written in Go. It calls the library
// seriatim_ffi, which has to be found by the linker:
//
//	cargo build --release -p seriatim-ffi
//	CGO_LDFLAGS="-L$CLONE/target/release -Wl,-rpath,$CLONE/target/release" go test -tags seriatim_cgo
//
// A model gives numbers to its states. Two equal states with two numbers only cost time; two different
// states never share one: by == where the model has no equality of its own, else by its Equal. A step that
// changes a state in place would make two states of one: what states look like is compared at the end.
package model

/*
#cgo CFLAGS: -I${SRCDIR}/../../crates/ffi/include
#cgo LDFLAGS: -lseriatim_ffi
#include "seriatim.h"

extern int64_t goSeriatimStep(void*, uint32_t, uint32_t, uint32_t*, size_t);
extern size_t goSeriatimDescribe(void*, uint32_t, char*, size_t);
extern size_t goSeriatimShow(void*, uint32_t, char*, size_t);

static struct SeriatimReport *seriatim_go(uintptr_t context, uint32_t operations, const struct SeriatimOperation *all,
                                          size_t count, uint64_t milliseconds, uint32_t flags) {
  struct SeriatimModel model = {0};
  struct SeriatimOptions options = {0};
  model.context = (void*)context;
  model.operations = operations;
  model.step = goSeriatimStep;
  model.describe = (size_t (*)(void*, uint32_t, char*, size_t))goSeriatimDescribe;
  model.show = (size_t (*)(void*, uint32_t, char*, size_t))goSeriatimShow;
  options.milliseconds = milliseconds;
  options.flags = flags;
  return seriatim_check_model(&model, all, count, &options);
}
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime/cgo"
	"time"
	"unsafe"
)

// A Model is a sequential object. Step says whether an operation with this input and output may happen in
// a state, and which state it leaves; it must be a function of its arguments.
type Model struct {
	Init              func() any
	Step              func(ctx context.Context, state, input, output any) (bool, any)
	Equal             func(a, b any) bool // nil: ==
	Hash              func(state any) uint64
	DescribeOperation func(input, output any) string
	DescribeState     func(state any) string
}

// An Operation is a call and its return. The interval is closed.
type Operation struct {
	Input, Output any
	Call, Return  int64
}

// A Verdict says whether a history is linearizable.
type Verdict int

const (
	Linearizable Verdict = 0
	Violation    Verdict = 1
	Unknown      Verdict = 3
)

// A Report is what was found out.
type Report struct {
	Verdict Verdict
	Text    string // the drawing; empty if it was not asked for
}

// Detail says how much to say of a violation.
type Detail int

const (
	Plain Detail = iota // the verdict alone
	Drawn               // the smallest part that shows it, drawn
)

// What is known where nothing is: who overlooks an error finds no verdict beside it.
var nothing = Report{Verdict: Unknown}

// Check decides whether operations are linearizable under a model. If the context ends, the verdict is
// Unknown. A panic of the model is a panic of Check.
func Check(ctx context.Context, model Model, operations []Operation, detail Detail) (Report, error) {
	if len(operations) == 0 {
		return Report{Verdict: Linearizable}, nil
	}
	limit := uint64(0)
	if deadline, isSet := ctx.Deadline(); isSet {
		left := time.Until(deadline).Milliseconds()
		if left <= 0 {
			return nothing, nil
		}
		limit = uint64(left)
	}
	s := &session{ctx: ctx, model: model, operations: operations, exact: map[any]uint32{}, byHash: map[uint64]uint32{}}
	s.number(model.Init())
	all := make([]C.struct_SeriatimOperation, len(operations))
	earliest := operations[0].Call
	for _, operation := range operations {
		if operation.Call < earliest {
			earliest = operation.Call
		}
	}
	for i, operation := range operations {
		if operation.Return < operation.Call {
			return nothing, fmt.Errorf("operation %d: the operation returns at %d, before its call at %d", i, operation.Return, operation.Call)
		}
		if uint64(operation.Return-earliest) == C.SERIATIM_PENDING {
			return nothing, fmt.Errorf("operation %d: its times cannot be told from those of one that never returned", i)
		}
		all[i].process = C.SERIATIM_NO_PROCESS
		all[i].call = C.uint64_t(operation.Call - earliest)
		all[i].ret = C.uint64_t(operation.Return - earliest)
		all[i].operation = C.uint32_t(i)
	}
	handle := cgo.NewHandle(s)
	defer handle.Delete()
	flags := C.uint32_t(0)
	if detail == Plain {
		flags = C.SERIATIM_PLAIN
	}
	report := C.seriatim_go(C.uintptr_t(handle), C.uint32_t(len(all)), &all[0], C.size_t(len(all)), C.uint64_t(limit), flags)
	defer C.seriatim_free(report)
	if s.panicked != nil {
		panic(s.panicked)
	}
	if err := s.unchanged(); err != nil {
		return nothing, err
	}
	if ctx.Err() != nil {
		return nothing, nil
	}
	verdict := C.seriatim_verdict(report)
	if verdict == C.SERIATIM_VERDICT_ERROR {
		return nothing, errors.New(C.GoString(C.seriatim_render(report, C.SERIATIM_FORM_TEXT, nil)))
	}
	found := Report{Verdict: Verdict(verdict)}
	if detail == Drawn {
		found.Text = C.GoString(C.seriatim_render(report, C.SERIATIM_FORM_TEXT, nil))
	}
	return found, nil
}

// What a check needs to answer the library's questions.
type session struct {
	ctx        context.Context
	model      Model
	operations []Operation
	states     []any
	looks      []uint64          // what each state looked like when it got its number
	exact      map[any]uint32    // without Equal: the number of a state
	byHash     map[uint64]uint32 // with Equal: the number of the last state with a hash, plus one
	before     []uint32          // and of the one before it with the same hash, plus one
	panicked   any
}

// number is the number of a state.
func (s *session) number(state any) uint32 {
	if s.model.Equal == nil {
		number, isKnown := s.exact[state]
		if !isKnown {
			number = s.add(state, s.look(state))
			s.exact[state] = number
		}
		return number
	}
	hash := s.look(state)
	last := s.byHash[hash]
	for number := last; number > 0; number = s.before[number-1] {
		if s.model.Equal(state, s.states[number-1]) {
			return number - 1
		}
	}
	number := s.add(state, hash)
	s.before = append(s.before, last)
	s.byHash[hash] = number + 1
	return number
}

// look is a hash that is equal for states that are equal and look the same.
func (s *session) look(state any) uint64 {
	if s.model.Hash != nil {
		return s.model.Hash(state)
	}
	return looks(state)
}

// unchanged says whether every state still looks as it did when it got its number.
func (s *session) unchanged() error {
	for number, state := range s.states {
		if s.look(state) != s.looks[number] {
			return fmt.Errorf("the model changes states in place, or what it compares them by: one is %v now", state)
		}
	}
	return nil
}

func (s *session) add(state any, look uint64) uint32 {
	s.states = append(s.states, state)
	s.looks = append(s.looks, look)
	return uint32(len(s.states) - 1)
}

// guarded does something of the model's. Nothing may unwind through the library: a panic is kept.
func (s *session) guarded(work func()) (isDone bool) {
	defer func() {
		if panicked := recover(); panicked != nil {
			s.panicked, isDone = panicked, false
		}
	}()
	work()
	return true
}

func of(context unsafe.Pointer) *session { return cgo.Handle(uintptr(context)).Value().(*session) }

//export goSeriatimStep
func goSeriatimStep(context unsafe.Pointer, state, operation C.uint32_t, next *C.uint32_t, _ C.size_t) C.int64_t {
	s := of(context)
	answer := C.int64_t(C.SERIATIM_MODEL_FAILED)
	s.guarded(func() {
		op := &s.operations[operation]
		isPossible, after := s.model.Step(s.ctx, s.states[state], op.Input, op.Output)
		switch {
		case s.ctx.Err() != nil: // then the model may have said anything
		case isPossible:
			*next = C.uint32_t(s.number(after))
			answer = 1
		default:
			answer = 0
		}
	})
	return answer
}

//export goSeriatimDescribe
func goSeriatimDescribe(context unsafe.Pointer, operation C.uint32_t, text *C.char, capacity C.size_t) C.size_t {
	s := of(context)
	told := fmt.Sprintf("operation %d", operation)
	if s.model.DescribeOperation != nil {
		op := &s.operations[operation]
		s.guarded(func() { told = s.model.DescribeOperation(op.Input, op.Output) })
	}
	return write(told, text, capacity)
}

//export goSeriatimShow
func goSeriatimShow(context unsafe.Pointer, state C.uint32_t, text *C.char, capacity C.size_t) C.size_t {
	s := of(context)
	told := fmt.Sprintf("state %d", state)
	if s.model.DescribeState != nil {
		s.guarded(func() { told = s.model.DescribeState(s.states[state]) })
	}
	return write(told, text, capacity)
}

func write(told string, text *C.char, capacity C.size_t) C.size_t {
	if len(told) <= int(capacity) {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(text)), int(capacity)), told)
	}
	return C.size_t(len(told))
}
