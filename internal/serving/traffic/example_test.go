package traffic_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/serving/traffic"
)

func Example() {
	cfg, err := traffic.Parse([]byte(`model_config_list { config {
		name: "fashion" base_path: "/models/fashion" model_platform: "tensorflow"
		traffic { version: 1 weight: 75 }
		traffic { version: 2 weight: 25 }
	} }`))
	if err != nil {
		fmt.Println(err)
		return
	}
	rules, err := traffic.Of(cfg.GetModelConfigList().GetConfig()[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	split := rules.Among(func(int64) bool { return true })
	var turns traffic.Sequence
	got := map[int64]int{}
	for range 1000 {
		got[split.Pick(turns.Next())]++
	}
	fmt.Println(got)
	// Output: map[1:750 2:250]
}
