{{/* The profile that scheduler.name, plugins and pluginConfig describe, as the spec of a SchedulerProfile. */}}
{{- define "pilotage.valuesProfile" -}}
{{- $disabled := .Values.plugins.disabled -}}
{{- $defaults := .Files.Get "files/default-plugins.yaml" | fromYamlArray -}}
{{- $args := dict -}}
{{- range .Values.pluginConfig }}{{ $_ := set $args .name .args }}{{ end -}}
{{- $plugins := list -}}
{{- $named := list -}}
{{- range .Values.plugins.enabled -}}
{{- $plugin := kindIs "string" . | ternary (dict "name" .) . | deepCopy -}}
{{- with get $args $plugin.name }}{{ $_ := set $plugin "args" . }}{{ end -}}
{{- $plugins = append $plugins $plugin -}}
{{- $named = append $named $plugin.name -}}
{{- end -}}
{{- /* A queue is always sorted: another queue sort plugin replaces PrioritySort, which must stay otherwise. */ -}}
{{- range without $disabled "*" "PrioritySort" -}}
{{- if not (has . $named) -}}
{{- $plugins = append $plugins (dict "name" . "enabled" false) -}}
{{- $named = append $named . -}}
{{- end -}}
{{- end -}}
{{- /* Arguments alone enable nothing: they count where the plugin takes part anyway. */ -}}
{{- range .Values.pluginConfig -}}
{{- if and .args (not (has .name $named)) (has .name $defaults) (not (has "*" $disabled)) -}}
{{- $plugins = append $plugins (dict "name" .name "args" .args) -}}
{{- end -}}
{{- end -}}
{{- $spec := dict "schedulerName" (include "pilotage.schedulerName" .) "plugins" $plugins -}}
{{- if has "*" $disabled }}{{ $_ := set $spec "base" "None" }}{{ end -}}
{{- toYaml $spec -}}
{{- end -}}

{{/* All profiles of the values, which the operator creates and maintains. Each names the release that serves it. */}}
{{- define "pilotage.profiles" -}}
{{- $instance := printf "%s/%s" .Release.Namespace .Release.Name -}}
{{- $all := list -}}
{{- if .Values.scheduler.createProfile -}}
{{- $all = append $all (dict "name" (include "pilotage.schedulerName" .) "spec" (include "pilotage.valuesProfile" . | fromYaml)) -}}
{{- end -}}
{{- range .Values.profiles -}}
{{- $all = append $all (dict "name" .name "spec" (default dict .spec | deepCopy)) -}}
{{- end -}}
{{- $names := list -}}
{{- range $all -}}
{{- if has .name $names -}}
{{- fail (printf "\nThere are two profiles %q: scheduler.name, which is the name of the first profile, and every name in profiles must differ." .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- if not .spec.instance }}{{ $_ := set .spec "instance" $instance }}{{ end -}}
{{- if not .spec.schedulerName }}{{ $_ := set .spec "schedulerName" .name }}{{ end -}}
{{- end -}}
{{- toYaml $all -}}
{{- end -}}

{{/* The scheduler names of the values that profiles of other releases serve: {schedulerName, profile, instance}. None without a
     cluster (helm template), or before it serves profiles. */}}
{{- define "pilotage.takenNames" -}}
{{- $instance := printf "%s/%s" .Release.Namespace .Release.Name -}}
{{- $wanted := list -}}
{{- range include "pilotage.profiles" . | fromYamlArray }}{{ $wanted = append $wanted .spec.schedulerName }}{{ end -}}
{{- $taken := list -}}
{{- if .Capabilities.APIVersions.Has "pilotage.dev/v1alpha1/SchedulerProfile" -}}
{{- range (lookup "pilotage.dev/v1alpha1" "SchedulerProfile" "" "").items -}}
{{- $status := default dict .status -}}
{{- $isServed := and (hasKey $status "pluginCount") (ne (default $instance $status.instance) $instance) -}}
{{- if and $isServed (has $status.schedulerName $wanted) -}}
{{- $taken = append $taken (dict "schedulerName" $status.schedulerName "profile" .metadata.name "instance" $status.instance) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $taken -}}
{{- end -}}
