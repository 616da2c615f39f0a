package seriatim

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"sync"
)

// What a run of the command left.
type run struct {
	code   int
	out    []byte
	errors string
}

// execute runs a command to its end, or until the context ends. The command may be a script that starts the real one: that
// one is not killed with the script, and keeps the pipes open. So they are closed here, or nobody would come back
// before it has ended by itself.
func execute(ctx context.Context, input []byte, path string, arguments ...string) (run, error) {
	command := exec.CommandContext(ctx, path, arguments...)
	stdin, err := command.StdinPipe()
	if err != nil {
		return run{}, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return run{}, err
	}
	stderr, err := command.StderrPipe()
	if err != nil {
		return run{}, err
	}
	if err := command.Start(); err != nil {
		return run{}, err
	}
	ended := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			for _, pipe := range []io.Closer{stdin, stdout, stderr} {
				pipe.Close()
			}
		case <-ended:
		}
	}()
	var out, errs bytes.Buffer
	var pipes sync.WaitGroup
	pipes.Add(3)
	go func() {
		defer pipes.Done()
		defer stdin.Close()
		_, _ = stdin.Write(input) // a command that has seen enough says so by its exit code
	}()
	for pipe, into := range map[io.Reader]*bytes.Buffer{stdout: &out, stderr: &errs} {
		go func(pipe io.Reader, into *bytes.Buffer) {
			defer pipes.Done()
			_, _ = into.ReadFrom(pipe) // what is cut off is no report
		}(pipe, into)
	}
	pipes.Wait()
	close(ended)
	err = command.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return run{}, err
	}
	return run{command.ProcessState.ExitCode(), out.Bytes(), errs.String()}, nil
}
