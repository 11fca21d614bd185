package eager

import (
	"errors"
	"fmt"
	"sync"
	"time"

	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
	eventpb "github.com/wamuir/graft/tensorflow/core/util/event_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/tensor"
)

// summaryWriterOps write summaries to event files in the directories that ops may write to.
var summaryWriterOps = map[*ops.Def]maker{
	ops.SummaryWriter:           makeSummaryWriter,
	ops.CreateSummaryFileWriter: plain(openSummaryWriter),
	ops.FlushSummaryWriter:      plain(flushSummaryWriter),
	ops.CloseSummaryWriter:      plain(closeSummaryWriter),
	ops.WriteSummary:            plain(writing(func(c call) ([]*summary.Value, error) { return c.tagged(3, 2, 4) })),
	ops.WriteRawProtoSummary:    plain(writing(rawSummaries)),
	ops.WriteScalarSummary:      plain(writing(writtenScalar)),
	ops.WriteHistogramSummary:   plain(writing(func(c call) ([]*summary.Value, error) { return c.histogram("tag", 2, 3) })),
	ops.WriteImageSummary:       writeImages,
	ops.WriteAudioSummary:       writeAudio,
	ops.WriteGraphSummary:       plain(writeGraph),
	ops.ImportEvent:             plain(importEvent),
}

// summaryWriter is a writer of summaries shared by steps. CreateSummaryFileWriter opens its file.
type summaryWriter struct {
	mu   sync.Mutex
	file *summary.FileWriter
}

var _ lasting = (*summaryWriter)(nil)

// Close implements lasting.
func (w *summaryWriter) Close() { _ = w.close() }

func (w *summaryWriter) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}

// on calls f with the file.
func (w *summaryWriter) on(f func(file *summary.FileWriter) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return fmt.Errorf("the summary writer is %w: run its initializer (CreateSummaryFileWriter)", ErrUninitialized)
	}
	return f(w.file)
}

func makeSummaryWriter(s *site) (kernel, error) {
	at := s.place()
	return func(c call) error {
		if c.env == nil || c.env.Resources == nil {
			return errors.New("summary writers need Env.Resources")
		}
		c.out[0].Resource = c.env.Resources.lasting(c.env, at, func() lasting { return &summaryWriter{} })
		return nil
	}, nil
}

func (c call) summaryWriter() (*summaryWriter, error) {
	w, ok := c.in[0].Resource.(*summaryWriter)
	if !ok {
		return nil, fmt.Errorf("expected a summary writer, got %T", c.in[0].Resource)
	}
	return w, nil
}

// openSummaryWriter opens a file, unless one is open. Queued events are written after flush_millis at the latest.
func openSummaryWriter(c call) error {
	w, err := c.summaryWriter()
	if err != nil {
		return err
	}
	dir, err := filePath("logdir", c.t(1))
	if err != nil {
		return err
	}
	millis, err := integer("flush_millis", c.t(3))
	if err != nil {
		return err
	}
	suffix, err := text("filename_suffix", c.t(4))
	if err != nil {
		return err
	}
	fsys, err := c.files(dir)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		w.file = summary.NewFileWriter(dir, summary.Options{FS: fsys, Suffix: string(suffix), FlushEvery: time.Duration(max(millis, 1)) * time.Millisecond})
	}
	return nil
}

func flushSummaryWriter(c call) error {
	w, err := c.summaryWriter()
	if err != nil {
		return err
	}
	return w.on((*summary.FileWriter).Flush)
}

func closeSummaryWriter(c call) error {
	w, err := c.summaryWriter()
	if err != nil {
		return err
	}
	return w.close()
}

// writing returns a kernel that writes the values of a step.
func writing(values func(c call) ([]*summary.Value, error)) kernel {
	return func(c call) error {
		w, err := c.summaryWriter()
		if err != nil {
			return err
		}
		step, err := integer("step", c.t(1))
		if err != nil {
			return err
		}
		all, err := values(c)
		if err != nil {
			return err
		}
		return w.on(func(file *summary.FileWriter) error { return file.Values(int64(step), all...) })
	}
}

func rawSummaries(c call) ([]*summary.Value, error) {
	var all []*summary.Value
	for _, b := range c.t(2).Strings {
		var one summarypb.Summary
		if err := proto.Unmarshal(b, &one); err != nil {
			return nil, fmt.Errorf("could not parse one of the summary inputs: %w", err)
		}
		all = append(all, one.GetValue()...)
	}
	return all, nil
}

func writtenScalar(c call) ([]*summary.Value, error) {
	tag, err := text("tag", c.t(2))
	if err != nil {
		return nil, err
	}
	v := c.t(3)
	if v.Len() != 1 || v.DType == tensor.String || v.DType.Size() == 0 {
		return nil, fmt.Errorf("value: expected one number, got %v of shape %v", v.DType, v.Shape)
	}
	return []*summary.Value{summary.Scalar(string(tag), v.Float(0))}, nil
}

func writeImages(s *site) (kernel, error) {
	most := s.count("max_images", 3, 1<<20)
	return writing(func(c call) ([]*summary.Value, error) { return c.images(2, 3, most) }), nil
}

func writeAudio(s *site) (kernel, error) {
	most := s.count("max_outputs", 3, 1<<20)
	return writing(func(c call) ([]*summary.Value, error) {
		rate, err := c.sampleRate(4)
		if err != nil {
			return nil, err
		}
		return c.audio(2, rate, most)
	}), nil
}

func writeGraph(c call) error {
	w, err := c.summaryWriter()
	if err != nil {
		return err
	}
	step, err := integer("step", c.t(1))
	if err != nil {
		return err
	}
	graph, err := text("tensor", c.t(2))
	if err != nil {
		return err
	}
	return w.on(func(file *summary.FileWriter) error { return file.Add(summary.GraphEvent(int64(step), graph)) })
}

func importEvent(c call) error {
	w, err := c.summaryWriter()
	if err != nil {
		return err
	}
	b, err := text("event", c.t(1))
	if err != nil {
		return err
	}
	e := &eventpb.Event{}
	if err := proto.Unmarshal(b, e); err != nil {
		return fmt.Errorf("event: expected an Event: %w", err)
	}
	return w.on(func(file *summary.FileWriter) error { return file.Add(e) })
}
