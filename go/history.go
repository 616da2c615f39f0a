package seriatim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// An Input is a history to check: a [History], a [*Recorder], a [Text] or a [File].
type Input interface {
	given() (given, error)
}

// What the command gets: the name of a file, or text on its standard input.
type given struct {
	file string
	text []byte
}

func (g given) name() string {
	if g.file != "" {
		return g.file
	}
	return "-"
}

// A Text is a history in any of the formats that the command reads.
type Text string

func (t Text) given() (given, error) { return given{text: []byte(t)}, nil }

// A File is the path of a history in any of the formats that the command reads; .gz and .zst are
// unpacked.
type File string

func (f File) given() (given, error) {
	if f == "" || f == "-" {
		return given{}, errors.New("a file needs a name")
	}
	return given{file: string(f)}, nil
}

// Null is the argument or the result null: nil, or “it was empty”. A field that is nil in Go is absent
// from the history.
var Null = json.RawMessage("null")

// An Operation is a call and its return. Argument, result, key, object and process are whatever
// [json.Marshal] takes.
type Operation struct {
	Process any    // who called it; either all operations of a history say so or none
	Op      string // enqueue, read, cas, …
	Key     any    // the key of a map's operation
	Object  any    // the object, in a history of several
	Arg     any    // a slice where there are several
	Result  any    // Null if it returned nil; absent if it returned nothing
	Call    int64  // when it was called, in any unit; from 0 on
	Return  int64  // when it returned; an interval is closed
	Pending bool   // it never returned: nobody knows whether it happened
	Failed  bool   // it returned, and said that it failed
	Note    any    // anything, for the report
}

// A History is a recorded run of one object, or of several: its operations, in any order.
type History []Operation

func (h History) given() (given, error) {
	text, err := h.MarshalText()
	return given{text: text}, err
}

// MarshalText gives the history as JSON Lines, one operation per line.
func (h History) MarshalText() ([]byte, error) {
	var text bytes.Buffer
	for i, operation := range h {
		line, err := operation.line()
		if err != nil {
			return nil, fmt.Errorf("operation %d (%s): %w", i, operation.Op, err)
		}
		text.Write(line)
		text.WriteByte('\n')
	}
	return text.Bytes(), nil
}

func (o Operation) line() ([]byte, error) {
	type line struct {
		Process json.RawMessage `json:"process,omitempty"`
		Op      json.RawMessage `json:"op"`
		Object  json.RawMessage `json:"object,omitempty"`
		Key     json.RawMessage `json:"key,omitempty"`
		Arg     json.RawMessage `json:"arg,omitempty"`
		Result  json.RawMessage `json:"result,omitempty"`
		Call    int64           `json:"call"`
		Return  *int64          `json:"return,omitempty"`
		Failed  bool            `json:"failed,omitempty"`
		Note    json.RawMessage `json:"note,omitempty"`
	}
	written := line{Call: o.Call, Return: &o.Return, Failed: o.Failed}
	if o.Pending {
		written.Return, o.Result = nil, nil
	}
	for _, field := range []struct {
		name  string
		value any
		place *json.RawMessage
	}{
		{"process", o.Process, &written.Process}, {"op", o.Op, &written.Op}, {"object", o.Object, &written.Object},
		{"key", o.Key, &written.Key}, {"arg", o.Arg, &written.Arg}, {"result", o.Result, &written.Result},
		{"note", o.Note, &written.Note},
	} {
		if field.value == nil {
			continue
		}
		text, err := told(field.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field.name, err)
		}
		*field.place = text
	}
	return json.Marshal(written)
}
