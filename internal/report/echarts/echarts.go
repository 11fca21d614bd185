// Package echarts embeds Apache ECharts, which draws the charts of the web
// pages, so that no page needs a network.
package echarts

import _ "embed" // for Script

// Script is the library as JavaScript.
//
//go:embed echarts.min.js
var Script string
