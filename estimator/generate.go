package estimator

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/goestimator/goestimator/internal/compiler/sampling"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// Sampling says how a text is continued. With only MaxNewTokens set, the most likely byte is always taken.
type Sampling struct {
	MaxNewTokens int     // the most bytes to generate
	Temperature  float32 // of the softmax; 0: the most likely byte
	TopK         int     // draw only from the TopK most likely bytes; 0: from all
	Seed         int64   // the same one gives the same text
}

// TextWriter generates text with the newest checkpoint of an Estimator, on the host. It is not safe for concurrent use.
type TextWriter struct {
	characters    string
	tokens        [256]int32 // by byte
	context       int
	vars          *engine.Variables
	prefill, step *engine.Program
	feeds         []*tensor.Tensor // of the step: token, position, cache
}

// TextWriter returns a writer that generates the same text as the model of ExportGenerator. The caller closes it.
func (e *Estimator) TextWriter(g Generator) (w *TextWriter, err error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	r, err := e.openCheckpoint("")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	w = &TextWriter{characters: g.Characters}
	_, w.context = g.Model.TextSize()
	for i := len(g.Characters) - 1; i >= 0; i-- {
		w.tokens[g.Characters[i]] = int32(i)
	}
	if err := w.open(e, g, r); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// open compiles the programs and reads their variables.
func (w *TextWriter) open(e *Estimator, g Generator, r *checkpoint.Reader) (err error) {
	dev := device.NewHost()
	if w.vars, err = engine.NewVariables(dev); err != nil {
		return err
	}
	for _, part := range []struct {
		build func(*Estimator) (textGraph, error)
		to    **engine.Program
	}{{g.prefill, &w.prefill}, {g.step, &w.step}} {
		built, err := part.build(e)
		if err == nil {
			err = w.read(e, r, built.variables)
		}
		if err != nil {
			return err
		}
		if *part.to, err = engine.Compile(built.IR, engine.Spec{Feeds: built.In, Fetches: built.Out}, dev, w.vars, engine.Options{OwnFetches: true}); err != nil {
			return err
		}
	}
	w.feeds = []*tensor.Tensor{tensor.New(tensor.Int32, 1), tensor.New(tensor.Int32, 1)}
	for _, shape := range g.Model.CacheShapes() {
		w.feeds = append(w.feeds, tensor.New(tensor.Float32, append([]int{1}, shape...)...))
	}
	return nil
}

// read reads the variables that were not read yet.
func (w *TextWriter) read(e *Estimator, r *checkpoint.Reader, variables []*models.Variable) error {
	x := &exporting{est: e, reader: r, trainable: map[string]bool{}, stored: map[string]string{}}
	if err := x.check(&program{mode: models.Predict, variables: variables}); err != nil {
		return err
	}
	for _, v := range variables {
		if _, ok := w.vars.Type(v.Name); ok {
			continue
		}
		value, err := x.value(v.Name)
		if err == nil {
			err = w.vars.Create(v.Name, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Close frees the memory.
func (w *TextWriter) Close() (err error) {
	for _, p := range []*engine.Program{w.prefill, w.step} {
		if p != nil {
			err = errors.Join(err, p.Close())
		}
	}
	if w.vars != nil {
		err = errors.Join(err, w.vars.Close())
	}
	return err
}

// Write continues a prompt, byte by byte; "" is "\n". Of a text that is longer than the context, the model sees
// the end: once the context is full, its second half is read again as a new prompt.
func (w *TextWriter) Write(ctx context.Context, prompt string, s Sampling) iter.Seq2[byte, error] {
	return func(yield func(byte, error) bool) {
		if prompt == "" {
			prompt = "\n"
		}
		room := w.context - s.MaxNewTokens
		if room < 1 {
			room = w.context / 2
		}
		seen := []byte(prompt[max(len(prompt)-room, 0):])
		length, filled := int64(len(prompt)), false
		draw := sampling.Sampler{Temperature: s.Temperature, TopK: s.TopK, Seed: s.Seed}
		for range s.MaxNewTokens {
			if len(seen) > w.context {
				seen, filled = seen[len(seen)-w.context/2:], false
			}
			if !filled {
				if err := w.fill(ctx, seen); err != nil {
					yield(0, err)
					return
				}
				filled = true
			}
			next, err := w.next(ctx, seen, draw, length)
			if err != nil {
				yield(0, err)
				return
			}
			seen, length = append(seen, next), length+1
			if !yield(next, nil) {
				return
			}
		}
	}
}

// Text returns what Write yields as one string.
func (w *TextWriter) Text(ctx context.Context, prompt string, s Sampling) (string, error) {
	var text []byte
	for c, err := range w.Write(ctx, prompt, s) {
		if err != nil {
			return "", err
		}
		text = append(text, c)
	}
	return string(text), nil
}

// fill computes the cache of a text.
func (w *TextWriter) fill(ctx context.Context, text []byte) error {
	ids := tensor.New(tensor.Int32, 1, w.context)
	for i, c := range text {
		tensor.Values[int32](ids)[i] = w.tokens[c]
	}
	if err := w.prefill.Run(ctx, 1, []*tensor.Tensor{ids}); err != nil {
		return fmt.Errorf("reading the prompt: %w", err)
	}
	return w.keep(w.prefill, 0)
}

// keep copies the cache that a program made, whose tensors are the fetches from index from on.
func (w *TextWriter) keep(p *engine.Program, from int) error {
	for i, to := range w.feeds[2:] {
		if err := p.Fetch(from+i, to); err != nil {
			return err
		}
	}
	return nil
}

// next draws the byte after a text.
func (w *TextWriter) next(ctx context.Context, text []byte, s sampling.Sampler, length int64) (byte, error) {
	last := len(text) - 1
	tensor.Values[int32](w.feeds[0])[0], tensor.Values[int32](w.feeds[1])[0] = w.tokens[text[last]], int32(last)
	if err := w.step.Run(ctx, 1, w.feeds); err != nil {
		return 0, fmt.Errorf("byte %d of the text: %w", length, err)
	}
	token := s.Draw(tensor.Values[float32](w.step.Value(0)), length)
	return w.characters[token], w.keep(w.step, 1)
}
