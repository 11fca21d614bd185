package yggdrasil

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unsafe"
)

// treeReader reads trees, node after node.
type treeReader struct {
	*reader
	open  []int32   // nodes whose positive child is still to come
	leaf  leafValue // reused
	whole bool      // the last node ended a tree
}

// between reports whether all trees that began have ended.
func (t *treeReader) between() bool { return t.whole || len(t.Nodes) == 0 }

// file reads the nodes of a file. A tree may continue in the next file.
func (t *treeReader) file(name string) error {
	f, err := t.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := newBlobs(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for {
		blob, err := b.next()
		if err == io.EOF {
			return nil
		}
		if err == nil && t.between() && int64(len(t.Roots)) == t.count {
			return nil // nodes after the last tree are not read
		}
		if err == nil {
			err = t.add(blob)
		}
		if err != nil {
			return fmt.Errorf("%s: node %d: %w", name, len(t.Nodes), err)
		}
	}
}

// add adds a node.
func (t *treeReader) add(blob []byte) error {
	// Slices grow to twice what they need, and a one-byte element becomes four bytes.
	if err := t.take(2*int(unsafe.Sizeof(Node{})) + 8*len(blob)); err != nil {
		return err
	}
	if max(len(t.Nodes), len(t.Elements), len(t.Weights), len(t.Counts), len(t.Bitmaps)) > math.MaxInt32-maxBlob {
		return errors.New("too many nodes")
	}
	n, at := Node{}, int32(len(t.Nodes))
	var condition []byte
	has := false
	t.leaf = leafValue{effects: t.leaf.effects[:0], counts: t.leaf.counts[:0]}
	err := eachField(blob, func(v field) (err error) {
		switch v.number {
		case 1:
			err = v.message(t.leaf.classifier)
		case 2:
			err = v.message(t.leaf.regressor)
		case 5:
			err = v.message(t.leaf.uplift)
		case 3:
			condition, has = v.data, true
		}
		return err
	})
	if err == nil && has {
		err = t.condition(&n, condition)
	} else if err == nil {
		err = t.value(&n)
	}
	if err != nil {
		return err
	}
	if t.between() {
		t.Roots = append(t.Roots, at)
	}
	t.Nodes = append(t.Nodes, n)
	switch {
	case has:
		t.open, t.whole = append(t.open, at), false
	case len(t.open) == 0:
		t.whole = true
	default:
		last := len(t.open) - 1
		t.Nodes[t.open[last]].Positive = at + 1
		t.open = t.open[:last]
	}
	return nil
}

// leafValue is what a node says about the label.
type leafValue struct {
	class    int64
	value    float32
	counts   []float64
	sum      float64
	effects  []float32
	class0   bool // the classifier's message is present
	number   bool // the regressor's message is present
	treated  bool // the uplift message is present
	hasCount bool
}

func (l *leafValue) classifier(v field) error {
	l.class0 = true
	switch v.number {
	case 1:
		l.class = v.int()
	case 2:
		l.hasCount = true
		return v.message(func(v field) (err error) {
			switch v.number {
			case 1:
				l.counts, err = v.doubles(l.counts)
			case 2:
				l.sum = v.double()
			}
			return err
		})
	}
	return nil
}

func (l *leafValue) regressor(v field) error {
	l.number = true
	if v.number == 1 {
		l.value = v.float()
	}
	return nil
}

func (l *leafValue) uplift(v field) (err error) {
	l.treated = true
	if v.number == 4 {
		l.effects, err = v.floats(l.effects)
	}
	return err
}

// value makes n a leaf.
func (t *treeReader) value(n *Node) error {
	classes, l := t.Columns[t.Label].Categories, &t.leaf
	switch {
	case t.Task == CategoricalUplift || t.Task == NumericalUplift:
		if len(l.effects) == 0 || t.Effects > 0 && len(l.effects) != t.Effects {
			return fmt.Errorf("leaf with effects of %d treatments: expected as many as other leaves, %d", len(l.effects), max(t.Effects, 1))
		}
		t.Effects = len(l.effects)
		n.First = int32(len(t.Weights))
		t.Weights = append(t.Weights, l.effects...)
		n.End = int32(len(t.Weights))
	case t.Task != Classification || t.Boosted:
		n.Value = l.value
	case t.WinnerTakeAll:
		if err := within("class", l.class, classes); err != nil {
			return err
		}
		n.Class = int32(l.class)
	default:
		if len(l.counts) != classes {
			return fmt.Errorf("%d counts of classes: expected %d", len(l.counts), classes)
		}
		n.First = int32(len(t.Counts))
		t.Counts = append(append(t.Counts, l.counts...), l.sum)
		n.End = int32(len(t.Counts))
	}
	return nil
}

// condition makes n a node with children.
func (t *treeReader) condition(n *Node, message []byte) error {
	var attribute int64
	err := eachField(message, func(v field) error {
		switch v.number {
		case 1:
			n.WhenNA = v.bool()
		case 2:
			attribute = v.int()
		case 3:
			return v.message(func(v field) error { return t.test(n, v) })
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := t.feature(attribute); err != nil {
		return err
	}
	n.Column = int32(attribute)
	return t.fits(n)
}

func (t *treeReader) feature(column int64) error {
	if err := within("column", column, len(t.Columns)); err != nil {
		return err
	}
	if !t.inputs[column] {
		return fmt.Errorf("column %q is not a feature", t.Columns[column].Name)
	}
	return nil
}

// test reads the condition itself: exactly one field.
func (t *treeReader) test(n *Node, v field) error {
	if v.number < 1 || v.number > lastCondition {
		return nil
	}
	n.Test = tests[v.number]
	switch n.Test {
	case Higher, HigherBin:
		return v.message(func(v field) error {
			switch {
			case v.number != 1:
			case n.Test == Higher:
				n.Threshold = v.float()
			default:
				n.First = int32(v.bits) // the bin, for fits
			}
			return nil
		})
	case AnyOf:
		return t.elements(n, v)
	case AnyBit:
		return v.message(func(v field) error {
			if v.number == 1 {
				n.First = int32(len(t.Bitmaps))
				t.Bitmaps = append(t.Bitmaps, v.data...)
				n.End = int32(len(t.Bitmaps))
			}
			return nil
		})
	case Oblique:
		return t.oblique(n, v)
	}
	return nil
}

// tests maps field numbers to kinds of conditions.
var tests = [...]Test{1: Missing, 2: Higher, 3: True, 4: AnyOf, 5: AnyBit, 6: HigherBin, 7: Oblique}

const lastCondition = 7

func (t *treeReader) elements(n *Node, v field) error {
	n.First = int32(len(t.Elements))
	err := v.message(func(v field) (err error) {
		if v.number == 1 {
			t.Elements, err = v.ints32(t.Elements)
		}
		return err
	})
	n.End = int32(len(t.Elements))
	slices.Sort(t.Elements[n.First:])
	return err
}

func (t *treeReader) oblique(n *Node, v field) error {
	var weights, replacements []float32
	n.First = int32(len(t.Elements))
	err := v.message(func(v field) (err error) {
		switch v.number {
		case 1:
			t.Elements, err = v.ints32(t.Elements)
		case 2:
			weights, err = v.floats(weights)
		case 3:
			n.Threshold = v.float()
		case 4:
			replacements, err = v.floats(replacements)
		}
		return err
	})
	if err != nil {
		return err
	}
	n.End, n.FirstWeight = int32(len(t.Elements)), int32(len(t.Weights))
	n.Replaces = len(replacements) > 0
	t.Weights = append(append(t.Weights, weights...), replacements...)
	if m := int(n.End - n.First); len(weights) != m || n.Replaces && len(replacements) != m {
		return fmt.Errorf("oblique condition of %d columns has %d weights and %d replacements", m, len(weights), len(replacements))
	}
	for _, c := range t.Elements[n.First:] {
		if err := t.feature(int64(c)); err != nil {
			return err
		}
		if k := t.Columns[c].Kind; k != Numerical {
			return fmt.Errorf("oblique condition of column %q of kind %d: expected numbers", t.Columns[c].Name, k)
		}
	}
	return nil
}

// fits checks that a condition fits the kind of its column.
func (t *treeReader) fits(n *Node) error {
	c := &t.Columns[n.Column]
	ok := false
	switch n.Test {
	case Missing:
		ok = true
	case Higher, Oblique:
		ok = c.Kind == Numerical
	case True:
		ok = c.Kind == Boolean
	case AnyOf, AnyBit:
		ok = c.Kind == Categorical || c.Kind == Set
	case HigherBin:
		bin := int(n.First)
		if ok = c.Kind == Discretized && bin >= 1 && bin <= len(c.Boundaries); ok {
			n.Threshold, n.First = c.Boundaries[bin-1], 0
		}
	}
	if !ok {
		return fmt.Errorf("condition of kind %d on column %q of kind %d", n.Test, c.Name, c.Kind)
	}
	return nil
}
