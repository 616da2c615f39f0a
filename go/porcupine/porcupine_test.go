//go:build seriatim_cgo

package porcupine

import (
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// A register: an input of -1 reads.
var register = porcupine.Model{
	Init: func() interface{} { return 0 },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		if input.(int) < 0 {
			return output == state, state
		}
		return true, input
	},
}

// Random operations of a few clients, right or wrong as it happens.
func random(chance *rand.Rand) []porcupine.Operation {
	var history []porcupine.Operation
	for client := 0; client < 3; client++ {
		now := int64(0)
		for i := 0; i < 3; i++ {
			call := now + chance.Int63n(4)
			now = call + chance.Int63n(4)
			op := porcupine.Operation{ClientId: client, Input: -1, Call: call, Output: chance.Intn(3), Return: now}
			if chance.Intn(2) == 0 {
				op.Input, op.Output = 1+chance.Intn(2), nil
			}
			history = append(history, op)
		}
	}
	return history
}

func events(history []porcupine.Operation) []porcupine.Event {
	var all []porcupine.Event
	for time := int64(0); time < 40; time++ {
		for id, op := range history {
			if op.Call == time {
				all = append(all, porcupine.Event{ClientId: op.ClientId, Kind: porcupine.CallEvent, Value: op.Input, Id: id})
			}
		}
		for id, op := range history {
			if op.Return == time {
				all = append(all, porcupine.Event{ClientId: op.ClientId, Kind: porcupine.ReturnEvent, Value: op.Output, Id: id})
			}
		}
	}
	return all
}

func TestTheAnswersArePorcupines(t *testing.T) {
	chance := rand.New(rand.NewSource(1))
	wrong := 0
	for i := 0; i < 500; i++ {
		history := random(chance)
		expected := porcupine.CheckOperations(register, history)
		if CheckOperations(register, history) != expected {
			t.Fatalf("porcupine says %v of %v", expected, history)
		}
		all := events(history)
		if CheckEvents(register, all) != porcupine.CheckEvents(register, all) {
			t.Fatalf("of the events %v", all)
		}
		if !expected {
			wrong++
		}
	}
	if wrong < 50 || wrong > 450 {
		t.Errorf("%d of 500 histories are wrong: too few of one kind", wrong)
	}
}

func TestAViolationIsDrawn(t *testing.T) {
	history := []porcupine.Operation{{Input: 1, Call: 0, Return: 1}, {Input: -1, Output: 2, Call: 2, Return: 3}}
	result, drawing := CheckOperationsDrawn(register, history, time.Minute)
	if result != porcupine.Illegal || !strings.Contains(drawing, "VIOLATION") {
		t.Errorf("%v %s", result, drawing)
	}
}
