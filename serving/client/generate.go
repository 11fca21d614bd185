package client

import (
	"context"
	"fmt"
	"iter"
)

// Generation is what a model that writes texts is asked for, such as one that Estimator.ExportGenerator wrote.
type Generation struct {
	Prompt       string
	MaxNewTokens int     // how many bytes are written
	Temperature  float32 // of the softmax; 0: always the most likely byte
	TopK         int     // as many of the most likely bytes may be drawn; 0: all
	Seed         int64   // the same one gives the same text
	Part         int     // bytes of a call, below the positions of the model; 0: DefaultPart
}

// DefaultPart is how many bytes Generate asks for in a call.
const DefaultPart = 16

// Generate streams a text: each call writes a part, with all that is there already for its prompt. Together the parts are the
// text that one call would give, where the model has positions for it; the text may be longer than that, too. The server keeps nothing between
// the calls. A model's signature is generate where m names none.
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

// part continues a text by n bytes. All parts are of the version that the first one is of.
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
