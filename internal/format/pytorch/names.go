package pytorch

import (
	"strconv"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
)

// maxDepth bounds nested dicts; optimizers nest 4 deep.
const maxDepth = 64

// named is a tensor of a file.
type named struct {
	name string
	*view
}

// walk collects the tensors of dicts and lists. A dict may occur several times, even in itself.
type walk struct {
	found []named
	left  int // bytes of names, and values, that may still follow
}

// perTensor is about the number of bytes that a tensor in a list takes besides its name.
const perTensor = 256

// namedOf returns the tensors in a pickle's value by their paths, such as "state_dict.conv1.weight": keys and list
// indices, joined by dots. It ignores other values. On average a value is visited only a few times:
// budget is a multiple of the bytes read.
func namedOf(value any, budget int64) ([]named, error) {
	switch value.(type) {
	case *dict, *list:
	default:
		return nil, tensorfile.Errorf("the file holds %s, expected a dict of tensors, as module.state_dict() returns it", kindOf(value))
	}
	w := walk{left: int(budget)}
	if err := w.value("", value, 0); err != nil {
		return nil, err
	}
	return w.found, nil
}

func (w *walk) value(name string, v any, depth int) error {
	if w.left -= len(name) + 1; w.left < 0 {
		return again(name)
	}
	switch v := v.(type) {
	case *view:
		if w.left -= perTensor; w.left < 0 {
			return again(name)
		}
		w.found = append(w.found, named{name, v})
	case *list:
		for i, x := range v.items {
			if err := w.child(name, strconv.Itoa(i), x, depth); err != nil {
				return err
			}
		}
	case *dict:
		for i := 0; i+1 < len(v.items); i += 2 {
			if w.left--; w.left < 0 {
				return again(name)
			}
			key, ok := keyName(v.items[i])
			if _, tensor := v.items[i+1].(*view); !ok && tensor {
				return tensorfile.Errorf("a tensor in %.200q has %s as its key, expected a text", name, kindOf(v.items[i]))
			}
			if !ok {
				continue
			}
			if err := w.child(name, key, v.items[i+1], depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func again(name string) error {
	return tensorfile.Errorf("dicts that are there again and again at %.200q", name)
}

func (w *walk) child(name, key string, v any, depth int) error {
	switch v.(type) {
	case *dict, *list, *view:
	default:
		if w.left--; w.left < 0 {
			return again(name)
		}
		return nil
	}
	if depth == maxDepth {
		return tensorfile.Errorf("dicts in dicts deeper than %d at %.200q", maxDepth, name)
	}
	if name != "" {
		key = name + "." + key
	}
	return w.value(key, v, depth+1)
}
