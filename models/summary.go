package models

import G "gorgonia.org/gorgonia"

// SummaryKind says how a summary is shown.
type SummaryKind string

// The kinds of summaries.
const (
	ScalarSummary    SummaryKind = "scalar"
	HistogramSummary SummaryKind = "histogram"
	ImageSummary     SummaryKind = "image" // [batch, height, width, 1|3|4]
)

// Summary is a node whose value is written to the event files every
// save_summary_steps.
type Summary struct {
	Tag  string
	Kind SummaryKind
	Node *G.Node
}

// Summarize records a summary under the scoped tag.
func (b *Builder) Summarize(kind SummaryKind, tag string, n *G.Node) {
	if b.Failed() {
		return
	}
	if n == nil {
		b.Failf("summary %s: the node is nil", tag)
		return
	}
	b.summaries = append(b.summaries, Summary{b.join(tag), kind, n})
}

// Summaries returns the recorded summaries in order.
func (b *Builder) Summaries() []Summary { return b.summaries }
