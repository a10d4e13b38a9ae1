package runtime

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// containerLog is a file in the CRI's log format, one line each: time, stream, F or P (part of a line), text.
type containerLog struct {
	path    string
	mu      sync.Mutex
	file    *os.File
	writers []*io.PipeWriter
	readers sync.WaitGroup
}

func openLog(path string) (*containerLog, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	l := &containerLog{path: path}
	return l, l.reopen()
}

// reopen continues in a new file after the old one has been renamed.
func (l *containerLog) reopen() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
	}
	l.file = file
	return nil
}

// stream takes the raw output of a process.
func (l *containerLog) stream(name string) io.Writer {
	reader, writer := io.Pipe()
	l.writers = append(l.writers, writer)
	l.readers.Add(1)
	go func() {
		defer l.readers.Done()
		lines := bufio.NewReaderSize(reader, 16*1024)
		for {
			line, err := lines.ReadSlice('\n')
			if len(line) > 0 {
				l.write(name, line)
			}
			if err != nil && err != bufio.ErrBufferFull {
				return
			}
		}
	}()
	return writer
}

// write appends one line or a part of one.
func (l *containerLog) write(stream string, line []byte) {
	tag := "P"
	text, whole := bytes.CutSuffix(line, []byte("\n"))
	if whole {
		tag = "F"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.file, "%s %s %s %s\n", time.Now().Format(time.RFC3339Nano), stream, tag, text)
}

func (l *containerLog) close() {
	for _, w := range l.writers {
		w.Close()
	}
	l.readers.Wait()
	l.file.Close()
}
