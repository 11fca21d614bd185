package xspace_test

import (
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/format/xspace"
	"github.com/goestimator/goestimator/internal/platform/timeline"
)

func Example() {
	start := time.Unix(0, 0)
	s := xspace.Of(timeline.Capture{Start: start, Events: []timeline.Event{
		{Line: timeline.Runs, Name: "dense/MatMul", Op: "MatMul", Start: start.Add(time.Microsecond), Duration: time.Microsecond}}}, "host")
	plane := s.Planes[0]
	for _, line := range plane.Lines {
		for _, e := range line.Events {
			fmt.Println(plane.Name, line.Name, plane.EventMetadata[e.MetadataId].Name, e.GetOffsetPs(), e.DurationPs)
		}
	}
	// Output: /host:CPU runs 1 dense/MatMul:MatMul 1000000 1000000
}
