package main

import (
	"context"
	"encoding/json"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

var features = cel.Features{EnableConsumableCapacity: true}

type celQuestion struct {
	Expression string             `json:"expression"`
	Driver     string             `json:"driver"`
	Device     resourceapi.Device `json:"device"`
}

type celAnswer struct {
	CompileError string  `json:"compileError,omitempty"`
	RuntimeError string  `json:"runtimeError,omitempty"`
	Result       *bool   `json:"result,omitempty"`
	Cost         *uint64 `json:"cost,omitempty"`
}

// compiled remembers the last expression: questions about one expression and many devices are asked in a row.
var compiled cel.CompilationResult

// evaluate compiles as the scheduler does, in the stored environment and without an estimate of the cost.
func evaluate(line []byte) (any, error) {
	var question celQuestion
	if err := json.Unmarshal(line, &question); err != nil {
		return nil, err
	}
	if compiled.Program == nil || compiled.Expression != question.Expression {
		options := cel.Options{DisableCostEstimation: true}
		compiled = cel.GetCompiler(features).CompileCELExpression(question.Expression, options)
	}
	if compiled.Error != nil {
		return celAnswer{CompileError: compiled.Error.Error()}, nil
	}
	matches, details, err := compiled.DeviceMatches(context.Background(), cel.Device{
		Driver:                   question.Driver,
		AllowMultipleAllocations: question.Device.AllowMultipleAllocations,
		Attributes:               question.Device.Attributes,
		Capacity:                 question.Device.Capacity,
	})
	var cost *uint64
	if details != nil {
		cost = details.ActualCost()
	}
	if err != nil {
		return celAnswer{RuntimeError: err.Error(), Cost: cost}, nil
	}
	return celAnswer{Result: &matches, Cost: cost}, nil
}
