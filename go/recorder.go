package seriatim

import (
	"sync"
	"sync/atomic"
)

// A Recorder records the operations of goroutines while they run. It may be used by all of them at
// the same time.
//
// Its clock is one counter that every call and every return increments: the counter is read after the
// recorder was called and before it returns, so an interval contains its operation whatever the
// machine's clocks do. Arguments and results are told as they are at that moment: a slice may be
// used again.
type Recorder struct {
	clock      atomic.Int64
	lock       sync.Mutex
	operations []*Recording
}

// NewRecorder gives a recorder that has recorded nothing.
func NewRecorder() *Recorder { return &Recorder{} }

// A Recording is an operation that was called. Until it is told to return it is pending.
type Recording struct {
	recorder  *Recorder
	operation Operation
	done      atomic.Bool
}

// Call records that a process calls an operation. A process has one operation at a time. Several
// arguments are a list.
func (r *Recorder) Call(process any, op string, arguments ...any) *Recording {
	recording := &Recording{recorder: r}
	recording.operation = Operation{Process: kept(process), Op: op, Arg: together(arguments), Pending: true}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.operations = append(r.operations, recording)
	recording.operation.Call = r.clock.Add(1)
	return recording
}

// On says which key of a map the operation is about.
func (o *Recording) On(key any) *Recording {
	key = kept(key)
	o.change(func(operation *Operation) { operation.Key = key })
	return o
}

// Return records that the operation returned, with its result if it has one: Return(nil) says that it
// returned nil, Return() that it returned nothing.
func (o *Recording) Return(results ...any) {
	now := o.recorder.clock.Add(1)
	result := together(results)
	o.end(now, func(operation *Operation) { operation.Result = result })
}

// Fail records that the operation returned and said that it failed.
func (o *Recording) Fail() {
	o.end(o.recorder.clock.Add(1), func(operation *Operation) { operation.Failed = true })
}

func (o *Recording) end(now int64, how func(*Operation)) {
	if o.done.Swap(true) {
		panic("seriatim: an operation returned twice")
	}
	o.change(func(operation *Operation) {
		how(operation)
		operation.Return, operation.Pending = now, false
	})
}

func (o *Recording) change(how func(*Operation)) {
	o.recorder.lock.Lock()
	defer o.recorder.lock.Unlock()
	how(&o.operation)
}

// together is how several values are told: none is absent, one is itself.
func together(values []any) any {
	switch {
	case len(values) == 0:
		return nil
	case len(values) > 1:
		return kept(values)
	case values[0] == nil:
		return Null
	default:
		return kept(values[0])
	}
}

// History is what has been recorded so far. What has not returned is pending.
func (r *Recorder) History() History {
	r.lock.Lock()
	defer r.lock.Unlock()
	history := make(History, len(r.operations))
	for i, recording := range r.operations {
		history[i] = recording.operation
	}
	return history
}

func (r *Recorder) given() (given, error) { return r.History().given() }
