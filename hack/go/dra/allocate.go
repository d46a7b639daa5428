package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

const filterTimeout = 10 * time.Second

// stock is what kube-scheduler 1.37 switches on by default.
var stock = structured.Features{
	AdminAccess:            true,
	ConsumableCapacity:     true,
	DeviceBindingAndStatus: true,
	DeviceTaints:           true,
	PartitionableDevices:   true,
	PrioritizedList:        true,
}

// celCache is kept between questions; its answers depend on nothing but the expression.
var celCache = cel.NewCache(1000, features)

type deviceName struct {
	Driver string `json:"driver"`
	Pool   string `json:"pool"`
	Device string `json:"device"`
}

func (n deviceName) id() structured.DeviceID {
	return structured.MakeDeviceID(n.Driver, n.Pool, n.Device)
}

type share struct {
	deviceName
	ShareID types.UID `json:"shareID"`
}

type consumption struct {
	deviceName
	Capacity map[resourceapi.QualifiedName]resource.Quantity `json:"capacity"`
}

// allocateQuestion is a cluster as the allocator sees it: taint rules are already applied to the slices.
type allocateQuestion struct {
	Nodes     []*v1.Node                   `json:"nodes"`
	Slices    []*resourceapi.ResourceSlice `json:"slices"`
	Classes   []*resourceapi.DeviceClass   `json:"classes"`
	Claims    []*resourceapi.ResourceClaim `json:"claims"`
	Allocated []deviceName                 `json:"allocated"`
	Shares    []share                      `json:"shares"`
	Consumed  []consumption                `json:"consumed"`
}

// nodeAnswer has results, or neither, which means that the node has not got what the claims want.
type nodeAnswer struct {
	Results  []resourceapi.AllocationResult `json:"results,omitempty"`
	NodeSays string                         `json:"nodeSays,omitempty"` // a failure of this node alone
	Error    string                         `json:"error,omitempty"`    // a failure of the whole attempt
}

type allocateAnswer struct {
	Answers []nodeAnswer `json:"answers"`
}

// allocate asks one allocator about each node, as one scheduling attempt does.
func allocate(line []byte) (any, error) {
	var question allocateQuestion
	if err := json.Unmarshal(line, &question); err != nil {
		return nil, err
	}
	ctx := context.Background()
	allocator, err := structured.NewAllocator(ctx, stock, question.state(), classes(question.Classes), question.Slices, celCache)
	if err != nil {
		return nil, err
	}
	answer := allocateAnswer{Answers: []nodeAnswer{}}
	for _, node := range question.Nodes {
		answer.Answers = append(answer.Answers, askNode(ctx, allocator, node, question.Claims))
	}
	return answer, nil
}

func askNode(ctx context.Context, allocator structured.Allocator, node *v1.Node, claims []*resourceapi.ResourceClaim) nodeAnswer {
	ctx, cancel := context.WithTimeout(ctx, filterTimeout)
	defer cancel()
	results, err := allocator.Allocate(ctx, node, claims)
	switch {
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		return nodeAnswer{NodeSays: err.Error()}
	case err != nil:
		return nodeAnswer{Error: err.Error()}
	default:
		return nodeAnswer{Results: results}
	}
}

func (q allocateQuestion) state() structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, name := range q.Allocated {
		state.AllocatedDevices.Insert(name.id())
	}
	for _, share := range q.Shares {
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(share.id(), &share.ShareID))
	}
	for _, used := range q.Consumed {
		state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(used.id(), used.Capacity))
	}
	return state
}

// classes is the lister of the scheduler's cache.
type classes []*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) {
	return c, nil
}

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range c {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclass"), name)
}
