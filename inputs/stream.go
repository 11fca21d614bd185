package inputs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// StdinFile is the name of standard input among the files of an input. A file of that name is ./-.
const StdinFile = "-"

// stdinName is the name of standard input in messages.
const stdinName = "standard input"

// streamed are the formats that can be read from standard input.
var streamed = []string{"csv", "jsonl", "arrow"}

// A Stream is text or Arrow records that come only once, such as standard input. The first pass over a data set consumes it.
//
// A read cannot be interrupted, so it runs in the background. Closing a pass does not stop the read: it ends when
// bytes come or the text ends, and those bytes are lost.
type Stream struct {
	in    io.Reader
	taken atomic.Bool
	arrow arrowHead
}

// NewStream returns the stream of a reader. Nobody else may read from it.
func NewStream(in io.Reader) *Stream { return &Stream{in: in} }

// processStdin is the stream of a Context without one.
var processStdin = sync.OnceValue(func() *Stream { return NewStream(os.Stdin) })

var errStreamTaken = fmt.Errorf("%w: %s was read before: let one input read it in one pass, or write it to a file", ErrNoResume, stdinName)

// text returns the text, decompressed if it is compressed. Only the first call succeeds.
func (s *Stream) text() (*file, error) {
	if s.taken.Swap(true) {
		return nil, errStreamTaken
	}
	br := bufio.NewReaderSize(s.in, 64<<10)
	kind := packing(br)
	if kind == "" {
		return &file{Reader: br}, nil
	}
	f, err := unpack(br, kind)
	if err != nil {
		return nil, fileError(stdinName, "damaged %s data: %w", kind, err)
	}
	return f, nil
}

// streamNode returns the data set of a stream; rows makes the reader of its text.
func streamNode(n *node, s *Stream, resume Resume, damaged *Damaged, rows func(ctx context.Context, in io.Reader) (rowReader, error)) *node {
	open := func(ctx context.Context) (rowReader, error) {
		return &streamReader{ctx: ctx, what: stdinName, damaged: damaged, open: func() (rowReader, error) {
			text, err := s.text()
			if err != nil {
				return nil, err
			}
			r, err := rows(ctx, text)
			if err != nil && text.end != nil {
				text.end()
			}
			return streamRows{r, text}, err
		}}, nil
	}
	return liveNode(n, stdinName, resume, open)
}

// streamRows frees the decompressor when it is closed. The underlying reader stays open: it belongs to the caller.
type streamRows struct {
	rowReader
	text *file
}

func (r streamRows) close() error {
	err := r.rowReader.close()
	if r.text.end != nil {
		r.text.end()
	}
	return err
}

// streamReader reads rows in the background, so that waiting for them ends with a context. Rows that arrive later are returned by
// the next call.
type streamReader struct {
	ctx     context.Context // of the pass
	what    string          // the source, for errors
	open    func() (rowReader, error)
	damaged *Damaged
	running chan streamRead // result of a running or finished read; nil: none
	rows    rowReader       // nil while a read runs
	failed  error           // error of opening, which consumes the text
	given   bool            // a row was delivered
	cutter
}

// streamRead is the result of one read.
type streamRead struct {
	reader rowReader // nil: it could not be opened
	rec    arrow.Record
	err    error
}

func (r *streamReader) read(ctx context.Context, limit int) (arrow.Record, error) {
	rec, err := r.pull(ctx, limit, func(ctx context.Context) (arrow.Record, error) { return r.next(ctx, limit) })
	switch {
	case err == nil:
		r.given = true
	case !eof(err):
	case !r.given:
		return nil, r.damaged.empty(r.what)
	case r.damaged != nil:
		r.damaged.ended()
	}
	return rec, err
}

// next returns the rows of the running read, or of a new one.
func (r *streamReader) next(ctx context.Context, limit int) (arrow.Record, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	if r.running == nil {
		r.running = make(chan streamRead, 1)
		go readStream(r.ctx, r.rows, r.open, limit, r.running)
	}
	select {
	case got := <-r.running:
		r.running, r.rows = nil, got.reader
		if got.reader == nil {
			r.failed = got.err
		}
		return got.rec, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.ctx.Done():
		return nil, r.ctx.Err()
	}
}

// readStream reads once from rows, which it opens if it is nil.
func readStream(ctx context.Context, rows rowReader, open func() (rowReader, error), limit int, to chan<- streamRead) {
	if rows == nil {
		var err error
		if rows, err = open(); err != nil {
			to <- streamRead{err: err}
			return
		}
	}
	rec, err := rows.read(ctx, limit)
	to <- streamRead{rows, rec, err}
}

func (r *streamReader) skip(ctx context.Context, n int64) error { return readPast(ctx, r, n) }

// close leaves a running read to a goroutine, which frees its result.
func (r *streamReader) close() error {
	r.discard()
	if r.running != nil {
		running := r.running
		r.running = nil
		go func() { _ = (<-running).release() }() // nobody is left to get the error
		return nil
	}
	return streamRead{reader: r.rows}.release()
}

func (s streamRead) release() error {
	if s.rec != nil {
		s.rec.Release()
	}
	if s.reader == nil {
		return nil
	}
	return s.reader.close()
}

// Stdin reports whether s, or an input that it combines, reads standard input, which comes once.
func (s Spec) Stdin() bool {
	return slices.Contains(s.Files, StdinFile) || slices.ContainsFunc(s.Inputs(), Spec.Stdin)
}

func (s Spec) validateStream(vs *violation.List) {
	vs.OneOf("resume", s.Resume, "", string(ResumeError), string(ResumeSkip), string(ResumeRestart))
	vs.Require(s.Resume == "" || s.live(), "resume", s.Resume, "expected none: all rows of files can be read again")
	if !s.Stdin() {
		return
	}
	own := slices.Contains(s.Files, StdinFile)
	vs.Require(!own || len(s.Files) == 1, "files", s.Files, "expected - (standard input) alone, or names of files")
	vs.Require(!own || slices.Contains(streamed, s.Format), "files", s.Files, "expected names of files: - (standard input) is for the formats "+strings.Join(streamed, ", "))
	vs.Require(!s.Repeat, "repeat", s.Repeat, "expected false: "+stdinName+" comes once; write it to a file to read it several times")
	vs.Require(s.Epochs <= 1, "epochs", s.Epochs, "expected 1: "+stdinName+" comes once; write it to a file to read it several times")
	vs.Require(s.Split.Time == "", "split.time", s.Split.Time, "expected none: it takes a pass of its own, and "+stdinName+" comes once; write it to a file")
}

// live reports whether the rows of the source cannot be read again from a given position.
func (s Spec) live() bool {
	return s.Format == "sql" || s.Format == "flight" || slices.Contains(s.Files, StdinFile)
}

// stream returns the data set of standard input.
func (s Spec) stream(ctx context.Context, ic Context) (Dataset, error) {
	if ic.NumPipelines > 1 && s.Shard != "off" {
		return nil, fmt.Errorf("%s cannot be shared among %d workers: set shard: off where each has rows of its own there, or write them to files", stdinName, ic.NumPipelines)
	}
	in := ic.Stdin
	if in == nil {
		in = processStdin()
	}
	damaged, label := s.damaged(ic), s.Format+" of "+stdinName
	o := ArrowOptions{Columns: s.Columns, Unlabeled: ic.unlabeled(), Damaged: damaged, Allocator: ic.Allocator}
	switch s.Format {
	case "arrow":
		return arrowStreamNode(ctx, in, Resume(s.Resume), o, label)
	case "jsonl":
		f, err := newJSONFormat(o)
		if err != nil {
			return nil, err
		}
		n := &node{schema: f.schema, mem: f.mem, label: label}
		return streamNode(n, in, Resume(s.Resume), damaged, func(ctx context.Context, text io.Reader) (rowReader, error) {
			return f.reader(ctx, stdinName, text, nil)
		}), nil
	}
	f, err := newCSVFormat(s.csv(ic, damaged))
	if err != nil {
		return nil, err
	}
	n := &node{schema: f.schema, mem: f.mem, label: label}
	return streamNode(n, in, Resume(s.Resume), damaged, func(ctx context.Context, text io.Reader) (rowReader, error) {
		return f.reader(ctx, stdinName, text)
	}), nil
}
