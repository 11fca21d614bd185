package inputs

import (
	"bufio"
	"context"
	"sync"
	"sync/atomic"
)

// arrowHead is the beginning of a stream of Arrow records. It is read once, for the columns of the data set.
type arrowHead struct {
	once   sync.Once
	read   chan struct{} // closed once the beginning was read
	file   *recordFile
	err    error
	passed atomic.Bool // a pass has taken the records
}

// records returns the records of the stream. It waits for the stream's beginning until ctx ends.
func (s *Stream) records(ctx context.Context) (*recordFile, error) {
	h := &s.arrow
	h.once.Do(func() {
		h.read = make(chan struct{})
		go func() {
			defer close(h.read)
			h.file, h.err = s.readHead()
		}()
	})
	select {
	case <-h.read:
		return h.file, h.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Stream) readHead() (_ *recordFile, err error) {
	text, err := s.text()
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(text)
	messages := textMessages(in)
	if startsWith(in, arrowMagic) { // a file is a stream between its magic and its footer
		_, err = in.Discard(len(arrowMagic) + 2)
	} else if !startsWith(in, "\xff\xff\xff\xff") {
		head, _ := in.Peek(in.Buffered())
		if err = mistaken(stdinName, "arrow", "an Arrow IPC stream", head); err == nil {
			err = fileError(stdinName, "this is no Arrow IPC stream, or it is damaged: write one, for example with pyarrow.ipc.new_stream")
		}
	} else {
		messages = toTheEnd(in, messages)
	}
	end := func() error {
		if text.end != nil {
			text.end()
		}
		return nil
	}
	if err == nil {
		var file *recordFile
		if file, err = recordsOfMessages(messages, end); err == nil {
			return told(file, stdinName), nil
		}
		err = fileError(stdinName, "this is no Arrow IPC stream, or it is damaged: %w", err)
	}
	_ = end()
	return nil, err
}

// arrowStreamNode is the data set of a stream of records.
func arrowStreamNode(ctx context.Context, s *Stream, resume Resume, o ArrowOptions, label string) (Dataset, error) {
	file, err := s.records(ctx)
	if err != nil {
		return nil, err
	}
	c, err := newConformer(file.schema, o)
	if err != nil {
		return nil, fileError(stdinName, "%w", err)
	}
	n := &node{schema: c.schema, mem: c.mem, label: label}
	return liveNode(n, stdinName, resume, func(ctx context.Context) (rowReader, error) {
		return &streamReader{ctx: ctx, what: stdinName, damaged: o.Damaged, open: func() (rowReader, error) {
			if s.arrow.passed.Swap(true) {
				return nil, errStreamTaken
			}
			return newRecordReader(stdinName, o, c.schema, func() (*recordFile, error) { return file, nil })
		}}, nil
	}), nil
}
