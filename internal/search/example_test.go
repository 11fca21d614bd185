package search_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/search"
)

func Example() {
	s, err := search.New(search.Spec{Algorithm: "grid", Parameters: []search.Parameter{
		{Key: "optimizer.learning_rate", Min: 0.01, Max: 1, Log: true, Points: 3}, {Key: "optimizer.name", Values: []any{"adam", "sgd"}}}}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		trial, ok := s.Next()
		if !ok {
			break
		}
		loss := float64(trial.Number) // of a training with trial.Sets()
		s.Add(search.Result{Trial: trial, Value: &loss})
	}
	fmt.Println(len(s.Results()), s.Ranked()[0].Sets())
	// Output: 6 [optimizer.learning_rate=0.01 optimizer.name=adam]
}
