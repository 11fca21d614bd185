package eager

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// selectBoxes does non-maximum suppression for each class of each image.
func selectBoxes(*site) (kernel, error) {
	return func(c call) error {
		boxes, scores := c.t(0), c.t(1)
		if len(boxes.Shape) != 3 || boxes.Shape[2] != 4 || len(scores.Shape) != 3 || scores.Shape[0] != boxes.Shape[0] || scores.Shape[2] != boxes.Shape[1] {
			return fmt.Errorf("expected boxes [n,m,4] and scores [n,classes,m], got shapes %v and %v", boxes.Shape, scores.Shape)
		}
		for i := 2; i < 5; i++ {
			if c.t(i).Len() != 1 {
				return fmt.Errorf("input %d: expected one number, got shape %v", i, c.t(i).Shape)
			}
		}
		overlap, least := float32(c.t(3).Float(0)), float32(c.t(4).Float(0))
		if !(overlap >= 0 && overlap <= 1) {
			return errors.New("iou_threshold must be in [0, 1]")
		}
		most := int(min(max(c.t(2).Int(0), 0), int64(boxes.Shape[1])))
		rows, err := c.chosenBoxes(boxes, scores, most, overlap, least)
		if err != nil {
			return err
		}
		return c.outputInts(0, tensor.Int64, rows, len(rows)/3, 3)
	}, nil
}

// chosenBoxes returns image, class and index of each selected box.
func (c call) chosenBoxes(boxes, scores *tensor.Tensor, most int, overlap, least float32) (rows []int, err error) {
	n, classes, m := scores.Shape[0], scores.Shape[1], scores.Shape[2]
	if m == 0 || most == 0 { // however many images and classes there are
		return nil, nil
	}
	if err := c.room(min(scores.Len(), most*n*classes), 3*8); err != nil {
		return nil, err
	}
	if err := c.room(m, 3*8); err != nil {
		return nil, err
	}
	corners, all := tensor.Values[float32](boxes), tensor.Values[float32](scores)
	for image := range n {
		own := corners[4*m*image : 4*m*(image+1)]
		for class := range classes {
			if err := c.ctx.Err(); err != nil {
				return nil, err
			}
			from := (image*classes + class) * m
			s := chooser{scores: all[from : from+m], most: most, overlaps: overlap, atLeast: least, interrupted: c.ctx.Err,
				overlap: func(i, j int) float32 { return intersection(own[4*i:4*i+4], own[4*j:4*j+4]) }}
			if err := s.choose(); err != nil {
				return nil, err
			}
			for _, box := range s.selected {
				rows = append(rows, image, class, box)
			}
		}
	}
	return rows, c.ctx.Err()
}
