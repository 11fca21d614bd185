package inference

import (
	"errors"
	"strings"
	"unsafe"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
)

// Result is a version's answer for a number of examples. The values of all examples lie one after the other, in the model's
// memory; as messages they would take many times as much.
type Result struct {
	ID       servable.ID
	Examples int
	Width    int       // classes of each example; of a regression 1
	Labels   [][]byte  // of the classes; nil: they have none
	Scores   []float32 // of the classes, or the values of a regression; nil: there are none
}

// Label returns the name of a class, "" if there is none.
func (r *Result) Label(i int) string {
	if r.Labels == nil {
		return ""
	}
	return strings.ToValidUTF8(string(r.Labels[i]), "\uFFFD")
}

// Score returns the score of a class, 0 if there is none.
func (r *Result) Score(i int) float32 {
	if r.Scores == nil {
		return 0
	}
	return r.Scores[i]
}

// classifications is the message of a classification. The model decides how many classes there are, the request how many
// examples.
func (r *Result) classifications(a *budget.Account) (*apis.ClassificationResult, error) {
	n, all := r.Examples, r.Examples*r.Width
	if err := errors.Join(a.ReserveArray(n, int(unsafe.Sizeof(apis.Classifications{})+pointer)),
		a.ReserveModel(all*int(unsafe.Sizeof(apis.Class{})+pointer)+bytesOf(r.Labels))); err != nil {
		return nil, err
	}
	// One allocation for all of each kind.
	rows, classes, refs := make([]apis.Classifications, n), make([]apis.Class, all), make([]*apis.Class, all)
	m := &apis.ClassificationResult{Classifications: make([]*apis.Classifications, n)}
	for i := range classes {
		classes[i].Label, classes[i].Score = r.Label(i), r.Score(i)
		refs[i] = &classes[i]
	}
	for i := range rows {
		rows[i].Classes = refs[i*r.Width : (i+1)*r.Width : (i+1)*r.Width]
		m.Classifications[i] = &rows[i]
	}
	return m, nil
}

// regressions is the message of a regression.
func (r *Result) regressions(a *budget.Account) (*apis.RegressionResult, error) {
	if err := a.ReserveArray(r.Examples, int(unsafe.Sizeof(apis.Regression{})+pointer)); err != nil {
		return nil, err
	}
	all := make([]apis.Regression, r.Examples)
	m := &apis.RegressionResult{Regressions: make([]*apis.Regression, r.Examples)}
	for i := range all {
		all[i].Value = r.Scores[i]
		m.Regressions[i] = &all[i]
	}
	return m, nil
}

// answer returns the result as tensors by name, as Answer has them.
func (r *Result) answer(regression bool) Answer {
	if regression {
		return Answer{"values": vector(r.Scores)}
	}
	a := Answer{}
	if r.Labels != nil {
		a["classes"] = &tensor.Tensor{DType: tensor.String, Shape: []int{len(r.Labels)}, Strings: r.Labels}
	}
	if r.Scores != nil {
		a["scores"] = vector(r.Scores)
	}
	return a
}

// size is about how many bytes the message takes, serialized.
func (r *Result) size() int { return 8*r.Examples*(1+r.Width) + bytesOf(r.Labels) }

const pointer = unsafe.Sizeof(uintptr(0))

// bytesOf is the total length of strings.
func bytesOf(all [][]byte) (n int) {
	for _, s := range all {
		n += len(s)
	}
	return n
}
