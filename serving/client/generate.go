package client

import (
	"context"
	"fmt"
	"iter"
)

// Generation is a request for text from a model such as one that Estimator.ExportGenerator wrote.
type Generation struct {
	Prompt       string
	MaxNewTokens int     // the number of bytes to generate
	Temperature  float32 // of the softmax; 0: take the most likely byte
	TopK         int     // draw only from the TopK most likely bytes; 0: from all
	Seed         int64   // the same seed gives the same text
	Part         int     // bytes per call, less than the model's positions; 0: DefaultPart
}

// DefaultPart is the number of bytes that Generate requests per call.
const DefaultPart = 16

// Generate streams a text. Each call generates a part, with the text so far as its prompt. Together the parts are the same text as
// from a single call, if that fits in the model's positions, but the text may also be longer. The server keeps no state between
// calls. The default signature is generate.
func (c *Client) Generate(ctx context.Context, m Model, g Generation) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if g.MaxNewTokens < 0 || g.Part < 0 {
			yield("", fmt.Errorf("generate: %d new tokens in parts of %d: expected nothing negative", g.MaxNewTokens, g.Part))
			return
		}
		m.Signature = or(m.Signature, "generate")
		text := or(g.Prompt, "\n")
		for left := g.MaxNewTokens; left > 0; {
			n := min(left, or(g.Part, DefaultPart))
			part, err := c.part(ctx, &m, text, n, g)
			if err != nil {
				yield("", err)
				return
			}
			if !yield(part, nil) || len(part) == 0 {
				return
			}
			text, left = text+part, left-n
		}
	}
}

// part continues a text by n bytes. All parts use the same version as the first one.
func (c *Client) part(ctx context.Context, m *Model, text string, n int, g Generation) (string, error) {
	p, err := c.Predict(ctx, *m, Inputs{"prompt": []string{text}, "max_new_tokens": []int32{int32(n)}, "temperature": []float32{g.Temperature},
		"top_k": []int32{int32(g.TopK)}, "seed": []int64{g.Seed}}, "text")
	if err != nil {
		return "", err
	}
	out, err := Output[[]string](p, "text")
	if err == nil && len(out) != 1 {
		err = fmt.Errorf("generate: %d texts for one prompt", len(out))
	}
	if err != nil {
		return "", err
	}
	m.Version, m.Label = &p.Version, ""
	return out[0], nil
}
