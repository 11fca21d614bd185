// Package drivertest is the contract of package driver as tests. Every implementation runs them on machines where it works.
package drivertest
