// Package msmplan decides how a card computes an MSM by Pippenger's method, before any
// memory is taken there. It needs no card: who computes, who forecasts and who tunes ask
// the same planner.
//
//   - A Plan says how wide the windows are, in which chunks the points are taken, and
//     where everything lies in work memory (plan.go, layout.go). It depends on its Input
//     only.
//   - A Table has the times of the parts of an MSM on one card, as they were measured.
//     Params are what follows from them for one group (tuning.go). Whatever a table says,
//     a plan gives the right answer; only its time depends on the table.
//   - Cost estimates the time of a plan (cost.go). New takes the cheapest plan that fits.
//   - An Outline is what people are told of a plan (outline.go).
package msmplan
