{{/* The name of all objects: the release's, with the chart's where it lacks that. */}}
{{- define "sluice.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "sluice.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "sluice.name" .) -}}
{{- end -}}

{{/* The Secret with URLs and the token of Prometheus. Empty: there is none. */}}
{{- define "sluice.secret" -}}
{{- if .Values.existingSecret -}}
{{- .Values.existingSecret -}}
{{- else if or .Values.secrets.origin .Values.secrets.global .Values.secrets.bus .Values.metrics.token -}}
{{- include "sluice.name" . -}}
{{- end -}}
{{- end -}}

{{/* A value of TOML. YAML's numbers are floating-point numbers in Helm; settings are whole numbers. */}}
{{- define "sluice.tomlValue" -}}
{{- if kindIs "bool" . -}}{{ . }}
{{- else if or (kindIs "float64" .) (kindIs "int64" .) (kindIs "int" .) -}}{{ int64 . }}
{{- else -}}{{ . | toString | quote }}
{{- end -}}
{{- end -}}

{{/* sluice.toml: the settings given, and those that follow from other values. */}}
{{- define "sluice.toml" -}}
{{- $settings := deepCopy .Values.settings -}}
{{- $_ := set $settings "listen" "0.0.0.0:8080" -}}
{{- $_ := set $settings "admin_listen" "0.0.0.0:9090" -}}
{{- if .Values.tls.existingSecret -}}
  {{- $tls := dict "cert" "/etc/sluice/tls/tls.crt" "key" "/etc/sluice/tls/tls.key" -}}
  {{- if .Values.tls.clientCertificates -}}{{- $_ := set $tls "client_ca" "/etc/sluice/tls/ca.crt" -}}{{- end -}}
  {{- $_ := set $settings "tls" $tls -}}
  {{- $_ := unset $settings "behind_proxy" -}}
{{- end -}}
{{- if .Values.grpc.enabled -}}
  {{- $grpc := dict "listen" "0.0.0.0:8081" "insecure" (not .Values.tls.clientCertificates) -}}
  {{- $_ := set $settings "grpc" (merge $grpc (get $settings "grpc" | default dict)) -}}
{{- end -}}
{{- if .Values.rules -}}{{- $_ := set $settings "rules" "/etc/sluice/rules" -}}{{- end -}}
{{- if .Values.persistence.enabled -}}{{- $_ := set $settings "data_dir" "/var/lib/sluice/data" -}}{{- end -}}
{{- range $key, $value := $settings -}}
{{- if not (kindIs "map" $value) }}
{{ $key }} = {{ include "sluice.tomlValue" $value }}
{{- end -}}
{{- end -}}
{{- range $table, $members := $settings -}}
{{- if kindIs "map" $members }}

[{{ $table }}]
{{- range $key, $value := $members }}
{{ $key }} = {{ include "sluice.tomlValue" $value }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $tokens := .Values.tokens -}}
{{- if and .Values.metrics.token (not .Values.existingSecret) -}}
  {{- $hash := sha256sum .Values.metrics.token -}}
  {{- $tokens = append $tokens (dict "name" "prometheus" "sha256" $hash "permissions" (list "read_metrics")) -}}
{{- end -}}
{{- if not $tokens -}}
  {{- fail "tokens: at least one is needed, since nodes listen on all addresses; `sluice token --name NAME` makes one" -}}
{{- end -}}
{{- range $tokens }}

[[tokens]]
name = {{ .name | quote }}
sha256 = {{ .sha256 | quote }}
{{- with .workspace }}
workspace = {{ . | quote }}
{{- end }}
{{- with .namespaces }}
namespaces = {{ toJson . }}
{{- end }}
{{- with .permissions }}
permissions = {{ toJson . }}
{{- end }}
{{- end }}
{{ end -}}

{{/* The command of a probe that presents a certificate. The server's own need not name the loopback address. */}}
{{- define "sluice.probe" -}}
["/usr/bin/sluice", "health", "--timeout", "2s", "--url", "https://127.0.0.1:8080", "--insecure",
 "--client-cert", "/etc/sluice/probe-tls/tls.crt", "--client-key", "/etc/sluice/probe-tls/tls.key"]
{{- end -}}

{{/* The template of a pod, for both workloads. */}}
{{- define "sluice.pod" -}}
metadata:
  labels:
    {{- include "sluice.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # Changed settings start new pods; so do changed secrets of this chart.
    checksum/config: {{ include "sluice.toml" . | sha256sum }}
    checksum/secrets: {{ printf "%v%v" .Values.secrets .Values.metrics.token | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "sluice.serviceAccount" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    # Else each start would make the data folder, which the server has created for itself alone, writable for the group.
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.migrate }}
  initContainers:
    - name: migrate
      {{- include "sluice.container" . | nindent 6 }}
      args: [migrate]
  {{- end }}
  containers:
    - name: sluice
      {{- include "sluice.container" . | nindent 6 }}
      args: [serve]
      ports:
        - {name: http, containerPort: 8080}
        {{- if .Values.grpc.enabled }}
        - {name: grpc, containerPort: 8081}
        {{- end }}
        - {name: metrics, containerPort: 9090}
      {{- if and .Values.tls.clientCertificates .Values.tls.probeSecret }}
      livenessProbe:
        exec: {command: {{ append (include "sluice.probe" . | fromJsonArray) "--live" | toJson }} }
        periodSeconds: 10
        timeoutSeconds: 3
      readinessProbe:
        exec: {command: {{ include "sluice.probe" . | fromJsonArray | toJson }} }
        periodSeconds: 2
        timeoutSeconds: 3
        failureThreshold: 1
      {{- else if .Values.tls.clientCertificates }}
      # The kubelet has no client certificate.
      livenessProbe:
        tcpSocket: {port: http}
        periodSeconds: 10
      readinessProbe:
        tcpSocket: {port: http}
        periodSeconds: 2
      {{- else }}
      livenessProbe:
        httpGet: {path: /healthz, port: http{{ if .Values.tls.existingSecret }}, scheme: HTTPS{{ end }}}
        periodSeconds: 10
      readinessProbe:
        httpGet: {path: /readyz, port: http{{ if .Values.tls.existingSecret }}, scheme: HTTPS{{ end }}}
        periodSeconds: 2
        failureThreshold: 1
      {{- end }}
      {{- with .Values.preStopSleepSeconds }}
      lifecycle:
        preStop:
          sleep: {seconds: {{ . }}}
      {{- end }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
  volumes:
    - name: config
      # Hashes of tokens: for the server and its group alone.
      configMap: {name: {{ include "sluice.name" . }}, defaultMode: 0440}
    {{- if .Values.rules }}
    - name: rules
      configMap: {name: {{ include "sluice.name" . }}-rules}
    {{- end }}
    {{- if .Values.tls.existingSecret }}
    - name: tls
      secret: {secretName: {{ .Values.tls.existingSecret }}, defaultMode: 0440}
    {{- end }}
    {{- if .Values.tls.probeSecret }}
    - name: probe-tls
      secret: {secretName: {{ .Values.tls.probeSecret }}, defaultMode: 0440}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- if .Values.topologySpreadConstraints }}
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "sluice.selector" $ | nindent 10 }}
    {{- end }}
    {{- end }}
{{- end -}}

{{/* What the containers of a pod have in common. */}}
{{- define "sluice.container" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
  - {name: SLUICE_CONFIG, value: /etc/sluice/config/sluice.toml}
  # The image's own, which is loopback, would override the file.
  - {name: SLUICE_LISTEN, value: "0.0.0.0:8080"}
  {{- $secret := include "sluice.secret" . }}
  {{- if $secret }}
  {{- range list "origin" "global" "bus" }}
  {{- if or $.Values.existingSecret (get $.Values.secrets .) }}
  - name: SLUICE_{{ upper . }}
    valueFrom:
      secretKeyRef: {name: {{ $secret }}, key: {{ . }}{{ if $.Values.existingSecret }}, optional: true{{ end }}}
  {{- end }}
  {{- end }}
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
volumeMounts:
  - {name: config, mountPath: /etc/sluice/config, readOnly: true}
  {{- if .Values.rules }}
  - {name: rules, mountPath: /etc/sluice/rules, readOnly: true}
  {{- end }}
  {{- if .Values.tls.existingSecret }}
  - {name: tls, mountPath: /etc/sluice/tls, readOnly: true}
  {{- end }}
  {{- if .Values.tls.probeSecret }}
  - {name: probe-tls, mountPath: /etc/sluice/probe-tls, readOnly: true}
  {{- end }}
  {{- if .Values.persistence.enabled }}
  - {name: data, mountPath: /var/lib/sluice}
  {{- end }}
{{- end -}}
