//go:build seriatim_cgo

// Package porcupine checks histories under models written for Porcupine, as they are.
//
//	if !porcupine.CheckOperations(model, history) { … }
//
// Only the import changes. The answers are Porcupine's; CheckOperationsDrawn gives the smallest part of
// a history that no order explains, drawn, besides.
package porcupine

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
	"seriatim/model"
)

// CheckOperations is whether a history is linearizable.
func CheckOperations(m porcupine.Model, history []porcupine.Operation) bool {
	return CheckOperationsTimeout(m, history, 0) == porcupine.Ok
}

// CheckOperationsTimeout is whether a history is linearizable, if that can be said in time; 0 is no limit.
func CheckOperationsTimeout(m porcupine.Model, history []porcupine.Operation, timeout time.Duration) porcupine.CheckResult {
	result, _ := check(m, ofOperations(m, history), model.Plain, timeout)
	return result
}

// CheckOperationsDrawn is CheckOperationsTimeout with a drawing of what is not linearizable.
func CheckOperationsDrawn(m porcupine.Model, history []porcupine.Operation, timeout time.Duration) (porcupine.CheckResult, string) {
	return check(m, ofOperations(m, history), model.Drawn, timeout)
}

// CheckEvents is whether a history is linearizable.
func CheckEvents(m porcupine.Model, history []porcupine.Event) bool {
	return CheckEventsTimeout(m, history, 0) == porcupine.Ok
}

// CheckEventsTimeout is whether a history is linearizable, if that can be said in time; 0 is no limit.
func CheckEventsTimeout(m porcupine.Model, history []porcupine.Event, timeout time.Duration) porcupine.CheckResult {
	result, _ := check(m, ofEvents(m, history), model.Plain, timeout)
	return result
}

// CheckEventsDrawn is CheckEventsTimeout with a drawing of what is not linearizable.
func CheckEventsDrawn(m porcupine.Model, history []porcupine.Event, timeout time.Duration) (porcupine.CheckResult, string) {
	return check(m, ofEvents(m, history), model.Drawn, timeout)
}

func check(m porcupine.Model, parts [][]model.Operation, detail model.Detail, timeout time.Duration) (porcupine.CheckResult, string) {
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	// The smallest parts first: a violation ends the check.
	sort.SliceStable(parts, func(i, j int) bool { return len(parts[i]) < len(parts[j]) })
	result := porcupine.Ok
	for _, part := range parts {
		report, err := model.Check(ctx, modelOf(m), part, detail)
		if err != nil {
			panic(err) // the model is at fault
		}
		switch report.Verdict {
		case model.Violation:
			return porcupine.Illegal, report.Text
		case model.Unknown:
			result = porcupine.Unknown
		}
	}
	return result, ""
}

func modelOf(m porcupine.Model) model.Model {
	described := func(input, output any) string { return fmt.Sprintf("%v -> %v", input, output) }
	if m.DescribeOperation != nil {
		described = m.DescribeOperation
	}
	// A line of its own each, and no word about the arrow: " -> " parts a call from its result.
	oneLine := func(input, output any) string { return strings.ReplaceAll(described(input, output), "\n", " ") }
	step := m.StepContext
	if step == nil {
		step = func(_ context.Context, state, input, output any) (bool, any) { return m.Step(state, input, output) }
	}
	return model.Model{
		Init: m.Init, Step: step, Equal: m.Equal, Hash: m.Hash,
		DescribeOperation: oneLine, DescribeState: m.DescribeState,
	}
}

func ofOperations(m porcupine.Model, history []porcupine.Operation) [][]model.Operation {
	parts := [][]porcupine.Operation{history}
	if m.Partition != nil {
		parts = m.Partition(history)
	}
	all := make([][]model.Operation, len(parts))
	for i, part := range parts {
		for _, op := range part {
			all[i] = append(all[i], model.Operation{Input: op.Input, Output: op.Output, Call: op.Call, Return: op.Return})
		}
	}
	return all
}

// ofEvents gives events the times of their places.
func ofEvents(m porcupine.Model, history []porcupine.Event) [][]model.Operation {
	parts := [][]porcupine.Event{history}
	if m.PartitionEvent != nil {
		parts = m.PartitionEvent(history)
	}
	all := make([][]model.Operation, len(parts))
	for i, part := range parts {
		open := map[int]int{}
		for place, event := range part {
			if event.Kind == porcupine.CallEvent {
				open[event.Id] = len(all[i])
				all[i] = append(all[i], model.Operation{Input: event.Value, Call: int64(place)})
				continue
			}
			op := &all[i][open[event.Id]]
			op.Output, op.Return = event.Value, int64(place)
		}
	}
	return all
}
