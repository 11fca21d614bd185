package inference

import (
	"time"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/protobuf/proto"
)

// An Observer is notified of every call at its end. Done is called before the answer is sent, from many goroutines,
// and must not block, change the messages, or keep the call.
type Observer interface {
	Done(call Call)
}

// Call describes a call that is over.
type Call struct {
	API        string      // "Predict", "Classify", "Regress", "MultiInference" or "GetModelMetadata"
	Entrypoint string      // "GRPC" or "REST"
	Model      string      // the name asked for; may be empty or unknown
	ID         servable.ID // the version that answered; zero if none was found
	Signature  string      // the key asked for, DefaultSignature if none was; for MultiInference the first task's
	Examples   int         // of Classify, Regress and MultiInference; 0 for Predict
	Err        error       // nil, or with a gRPC status
	Start      time.Time
	Latency    time.Duration // of the whole call
	Runtime    time.Duration // the part inside the model; 0 if the call did not reach it

	request, response proto.Message
	tensors           *tensorCall // in place of the messages
}

// tensorCall is a call without messages.
type tensorCall struct {
	spec       Spec
	inputs     map[string]*tensor.Tensor
	filter     []string
	prediction *Prediction
	examples   *Examples
	result     *Result // of examples
}

// Size returns the approximate size of Request and Response as messages, in bytes, without making them.
func (c Call) Size() int {
	if t := c.tensors; t != nil {
		n := 0
		for _, x := range t.inputs {
			n += tensorSize(x)
		}
		if t.prediction != nil {
			for _, x := range t.prediction.Tensors {
				n += tensorSize(x)
			}
		}
		if t.examples != nil {
			n += len(t.examples.Context)
			for _, e := range t.examples.Serialized {
				n += stringHeader + len(e)
			}
		}
		if t.result != nil {
			n += t.result.size()
		}
		return n
	}
	return sizeOf(c.request) + sizeOf(c.response)
}

func sizeOf(m proto.Message) int {
	if m == nil {
		return 0
	}
	return proto.Size(m)
}

func tensorSize(t *tensor.Tensor) int {
	n := len(t.Bytes)
	for _, s := range t.Strings {
		n += stringHeader + len(s)
	}
	return n
}

// Request returns the request, made on demand for calls that came as tensors; nil if it could not be decoded.
// It is valid until Done returns.
func (c Call) Request() proto.Message {
	if c.request != nil || c.tensors == nil {
		return c.request
	}
	t := c.tensors
	if t.examples != nil {
		if c.API == "Regress" {
			return &apis.RegressionRequest{ModelSpec: t.spec.proto(), Input: t.examples.Input()}
		}
		return &apis.ClassificationRequest{ModelSpec: t.spec.proto(), Input: t.examples.Input()}
	}
	if t.inputs == nil {
		return nil
	}
	inputs := make(map[string]*tensor_go_proto.TensorProto, len(t.inputs))
	for name, x := range t.inputs {
		if p, err := graphdef.ToTensorProto(x, false); err == nil {
			inputs[name] = p
		}
	}
	return &apis.PredictRequest{ModelSpec: t.spec.proto(), Inputs: inputs, OutputFilter: t.filter}
}

// Response returns the response, nil where Err is set. It is valid until Done returns.
func (c Call) Response() proto.Message {
	if c.Err != nil {
		return nil
	}
	t := c.tensors
	switch {
	case c.response != nil || t == nil:
		return c.response
	case t.result != nil:
		return c.ofExamples()
	case t.prediction == nil:
		return nil
	}
	r, err := t.prediction.proto(t.spec, false)
	if err != nil {
		return nil
	}
	return r
}

// ofExamples is the response of a call of examples that came without messages. Its memory is not accounted for.
func (c Call) ofExamples() proto.Message {
	spec := c.tensors.spec.resolved(c.ID)
	if c.API == "Regress" {
		r, _ := c.tensors.result.regressions(nil) // without an account there is no error
		return &apis.RegressionResponse{ModelSpec: spec, Result: r}
	}
	r, _ := c.tensors.result.classifications(nil) // likewise
	return &apis.ClassificationResponse{ModelSpec: spec, Result: r}
}

// begin starts the clock of a call.
func (s *Service) begin(api string, spec Spec) Call {
	entry := s.Entrypoint
	if entry == "" {
		entry = "GRPC"
	}
	return Call{API: api, Entrypoint: entry, Model: spec.Name, Signature: spec.key(), Start: time.Now()}
}

// end tells the observers.
func (s *Service) end(call *Call, err error) {
	if len(s.Observers) == 0 {
		return
	}
	call.Err, call.Latency = err, time.Since(call.Start)
	for _, o := range s.Observers {
		o.Done(*call)
	}
}
