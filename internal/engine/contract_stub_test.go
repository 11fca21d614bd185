package engine

func structureCases() []*opCase { return nil }
func castCases() []*opCase      { return nil }
func layoutCases() []*opCase    { return nil }
func indexCases() []*opCase     { return nil }
func selectCases() []*opCase    { return nil }
func stateCases() []*opCase     { return nil }
func updateCases() []*opCase    { return nil }
func sparseCases() []*opCase    { return nil }
