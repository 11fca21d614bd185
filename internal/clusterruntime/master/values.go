package master

import "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"

// values are the feeds or fetches of a step, by name.
type values struct {
	names   []string
	tensors []*tensor_go_proto.TensorProto
	at      map[string]int // nil for a few
}

// fewValues is the number of values up to which a linear search is faster than
// a map.
const fewValues = 8

// add adds a value, and reports whether its name was new.
func (v *values) add(name string, t *tensor_go_proto.TensorProto) bool {
	if v.find(name) >= 0 {
		return false
	}
	v.names, v.tensors = append(v.names, name), append(v.tensors, t)
	if v.at == nil && len(v.names) > fewValues {
		v.at = make(map[string]int, 2*len(v.names))
		for i, name := range v.names {
			v.at[name] = i
		}
	} else if v.at != nil {
		v.at[name] = len(v.names) - 1
	}
	return true
}

// get returns the value of a name, nil for none.
func (v *values) get(name string) *tensor_go_proto.TensorProto {
	if i := v.find(name); i >= 0 {
		return v.tensors[i]
	}
	return nil
}

func (v *values) find(name string) int {
	if v.at != nil {
		if i, ok := v.at[name]; ok {
			return i
		}
		return -1
	}
	for i, n := range v.names {
		if n == name {
			return i
		}
	}
	return -1
}
