package session

import (
	"context"

	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/budget"
)

// Rows count as sent one by one if the request has that many bytes for each of them, or if there are few.
const (
	rowBytes = 4
	fewRows  = 64
)

// payerOf returns the payer for a run. If shapes stand for more rows or elements than the request has bytes for, all memory that
// depends on them is charged to the request.
func (r *run) payerOf(ctx context.Context) eager.Payer {
	a := budget.Of(ctx)
	if a == nil {
		return eager.Payer{}
	}
	elements := 0
	for i := range r.p.feeds {
		elements += r.slots.Values[r.p.feeds[i].slot].T.Len()
	}
	rows, elements := a.WithoutPadding(r.batch, elements)
	sent := rows <= fewRows || a.SentBytesFor(rows*rowBytes)
	return eager.Payer{Account: a, Rows: sent && (elements <= fewRows || a.SentBytesFor(elements))}
}

// pay counts the bytes that a program is about to allocate: its sizes depend only on the model and the program's inputs.
func (r *run) pay(bytes int) error { return r.payer.Take(bytes, false) }

// envs are an eager stage's environments for a run: for nodes whose sizes depend only on the number of rows, and for others.
type envs struct{ fixed, open *eager.Env }

func (r *run) envs(e *eager.Env) envs {
	if r.payer.Account == nil && r.kept == nil {
		return envs{e, e}
	}
	fixed, open := *e, *e
	fixed.Payer, open.Payer = r.payer, r.payer
	fixed.Room, open.Room = r.kept, r.kept
	fixed.Payer.Fixed = true
	return envs{&fixed, &open}
}
