package rest

import (
	"context"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// call is one predict, classify or regress request.
type call struct {
	*handler
	route     route
	start     time.Time
	signature string
}

func (c *call) spec() inference.Spec {
	return inference.Spec{Name: c.route.model, Version: c.route.version, Signature: c.signature}
}

// refuse reports a request that does not reach the service to the observers.
func (c *call) refuse(err error) error {
	sig := c.signature
	if sig == "" {
		sig = inference.DefaultSignature
	}
	for _, o := range c.Observers {
		o.Done(inference.Call{
			API: strings.ToUpper(c.route.method[:1]) + c.route.method[1:], Entrypoint: "REST",
			Model: c.route.model, Signature: sig, Err: err, Start: c.start, Latency: time.Since(c.start),
		})
	}
	return err
}

func (c *call) predict(ctx context.Context, s *scratch, out []byte) ([]byte, error) {
	q, err := readPredict(&s.doc, s.text)
	if err != nil {
		return out, c.refuse(err)
	}
	c.signature = q.signature
	p, err := c.Service.PredictFrom(ctx, c.spec(), func(sigs map[string]*pb.SignatureDef) (map[string]*tensor.Tensor, error) {
		in, err := q.inputs(sigs)
		if !shares(in) {
			s.forget()
		}
		return in, err
	}, nil)
	if err != nil {
		return out, err
	}
	s.forget()
	s.doc.give(s.doc.taken) // the inputs
	o := outputs{names: p.Names, tensors: p.Tensors, account: s.account}
	if q.row {
		return appendPredictions(out, o)
	}
	return appendOutputs(out, o)
}

// shares reports whether tensors refer to the text from which they were read.
func shares(tensors map[string]*tensor.Tensor) bool {
	for _, t := range tensors {
		if len(t.Strings) > 0 {
			return true
		}
	}
	return false
}

// floats are the features that a signature takes as floats.
func (c *call) floats(signature string) map[string]bool {
	if signature == "" {
		signature = inference.DefaultSignature
	}
	names := map[string]bool{}
	for _, f := range c.Service.Features(c.spec())[signature] {
		if f.DType == tensor.Float32 {
			names[f.Name] = true
		}
	}
	return names
}

func (c *call) classify(ctx context.Context, s *scratch, out []byte) ([]byte, error) {
	sig, examples, err := readExamples(&s.doc, s.text, c.floats)
	if c.signature = sig; err != nil {
		return out, c.refuse(err)
	}
	s.forget() // the examples do not refer to the text
	r, err := c.Service.ClassifyExamples(ctx, c.spec(), examples)
	if err != nil {
		return out, err
	}
	s.doc.give(s.doc.taken) // the examples
	return appendClassification(out, r, s.account)
}

func (c *call) regress(ctx context.Context, s *scratch, out []byte) ([]byte, error) {
	sig, examples, err := readExamples(&s.doc, s.text, c.floats)
	if c.signature = sig; err != nil {
		return out, c.refuse(err)
	}
	s.forget() // the examples do not refer to the text
	r, err := c.Service.RegressExamples(ctx, c.spec(), examples)
	if err != nil {
		return out, err
	}
	s.doc.give(s.doc.taken) // the examples
	return appendRegression(out, r, s.account)
}
