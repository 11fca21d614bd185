package settings_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/settings"
)

func Example() {
	mine := settings.Make([]settings.Setting{{Name: "learning_rate", Value: "0.2"}, {Name: "batch_size", Value: "32"}})
	theirs, err := settings.Parse(settings.Make([]settings.Setting{{Name: "learning_rate", Value: "0.1"}, {Name: "batch_size", Value: "32"}}).Encode())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mine.Differences(theirs))
	// Output: [{learning_rate 0.2 0.1}]
}
