package page_test

import (
	"fmt"
	"net/http/httptest"

	"github.com/goestimator/goestimator/internal/serving/page"
	"github.com/goestimator/goestimator/internal/serving/servable"
)

// The page shows the models of a catalog.
func Example() {
	var models servable.Memory
	models.Set(servable.ID{Name: "m", Version: 3}, &servable.Func{})
	p, err := page.New(page.Options{Models: &models, Catalog: &models})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest("GET", "/page/models.json", nil))
	fmt.Println(w.Body)
	// Output: [{"name":"m","versions":[{"version":"3","state":"AVAILABLE"}]}]
}
