import type { Json } from '../../kit/json.ts';
import { curlCommand } from './curl-command.ts';
import { html, prose, type Html } from './docs-page-html.ts';
import { limitsOf, membersOf, typeOf, type ShownSchema } from './docs-page-schema.ts';

export interface ShownOperation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: object[];
  parameters: ShownParameter[];
  requestBody?: { content: ShownContent };
  responses: Record<string, ShownResponse>;
}

interface ShownParameter {
  name: string;
  in: string;
  required: boolean;
  description?: string;
  schema: ShownSchema;
  example?: string | number | boolean;
}

interface ShownResponse {
  description: string;
  headers?: Record<string, { $ref?: string; description?: string }>;
  content?: ShownContent;
}

type ShownContent = Record<
  string,
  { schema?: ShownSchema; examples?: Record<string, { summary?: string; value: Json }> }
>;

export interface PlacedOperation {
  method: string;
  /** A callback has a name instead. */
  path: string;
  operation: ShownOperation;
}

/** The facts that all operations of the page share. */
export interface PageContext {
  baseUrl: string;
  schemas: Readonly<Record<string, ShownSchema>>;
}

/** Renders one operation, closed. A link to it opens it, because the anchor is inside. */
export const operationSection = (
  { method, path, operation }: PlacedOperation,
  { baseUrl, schemas }: PageContext,
): Html =>
  html`<details class="operation">
    <summary>
      <span class="method ${method}">${method.toUpperCase()}</span>
      <span class="path">${path}</span>
      <span class="title">${operation.summary}</span>
    </summary>
    <div class="body" id="${operation.operationId}">
      ${prose(operation.description)} ${operation.security.length === 0 ? null : keyNote(operation.security)}
      ${parametersSection(operation.parameters)} ${requestSection(operation, schemas)}
      ${path.startsWith('/') ? curlSection({ method, path, operation }, baseUrl) : null}
      <h4>Answers</h4>
      ${Object.entries(operation.responses).map(([status, response]) => responseSection(status, response))}
    </div>
  </details>`;

/** An empty requirement is met without a key. */
const isKeyOptional = (security: readonly object[]): boolean =>
  security.some((requirement) => Object.keys(requirement).length === 0);

const keyNote = (security: readonly object[]): Html =>
  html`<p class="note">
    ${isKeyOptional(security) ? 'Takes an API key as bearer token. Without one it answers 402, with the terms of a payment.' : 'Needs an API key as bearer token.'}
  </p>`;

const parametersSection = (parameters: readonly ShownParameter[]): Html | null =>
  parameters.length === 0
    ? null
    : html`<h4>Parameters</h4>
        <ul class="members">
          ${parameters.map(
            (parameter) =>
              html`<li>
                <span class="name">${parameter.name}</span>
                <span class="type">${parameter.in}, ${typeOf(parameter.schema)}</span>
                ${parameter.required ? html`<span class="required">required</span>` : null}
                ${limitsOf(parameter.schema)}
                ${parameter.description === undefined ? null : prose(parameter.description)}
              </li>`,
          )}
        </ul>`;

/** Renders the request body with its members, which a caller needs while writing a request. */
const requestSection = ({ requestBody }: ShownOperation, schemas: PageContext['schemas']): Html | null =>
  requestBody === undefined
    ? null
    : html`<h4>Request</h4>
        ${contentSection(requestBody.content)}
        ${Object.values(requestBody.content).map(({ schema }) => {
          const name = schema?.$ref?.split('/').at(-1) ?? '';
          return membersOf(schemas[name] ?? {}) ?? html``;
        })}`;

const contentSection = (content: ShownContent): Html =>
  html`${Object.entries(content).map(
    ([type, { schema, examples }]) =>
      html`<p class="media">
          <code>${type}</code>
          ${schema === undefined ? null : html`<span class="type">${typeOf(schema)}</span>`}
        </p>
        ${schema?.description === undefined ? null : prose(schema.description)}
        ${schema === undefined ? null : membersOf(schema)}
        ${Object.entries(examples ?? {}).map(([name, { summary, value }]) => example(summary ?? name, value))}`,
  )}`;

const example = (title: string, value: unknown): Html =>
  html`<details class="example">
    <summary>${title}</summary>
    <pre tabindex="0"><code>${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</code></pre>
  </details>`;

const responseSection = (status: string, { description, headers, content }: ShownResponse): Html =>
  html`<details class="answer">
    <summary><span class="status s${status.charAt(0)}">${status}</span> ${firstWords(description)}</summary>
    <div class="body">
      ${description.includes('`') || description.includes('. ') ? prose(description) : null}
      ${
        headers === undefined || Object.keys(headers).length === 0
          ? null
          : html`<p class="note">
              Headers: ${Object.keys(headers).map((name) => html`<code>${name}</code> `)}
            </p>`
      }
      ${content === undefined ? null : contentSection(content)}
    </div>
  </details>`;

/** Returns the codes of a refusal, or the first sentence of a success. */
const firstWords = (description: string): Html => {
  const codes = [...description.matchAll(/^`(\w+)`:/gm)].map(([, code]) => code ?? '');
  return codes.length === 0
    ? html`${description.split('. ')[0]?.replaceAll('`', '') ?? ''}`
    : html`${codes.join(', ')}`;
};

const curlSection = ({ method, path, operation }: PlacedOperation, baseUrl: string): Html => {
  const { parameters, requestBody, security } = operation;
  const exampleOf = (name: string): string =>
    encodeURIComponent(String(parameters.find((parameter) => parameter.name === name)?.example ?? name));
  const address = path.replace(/\{(\w+)\}/g, (_whole, name: string) => exampleOf(name));
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.example !== undefined)
    .map(({ name }) => `${name}=${exampleOf(name)}`)
    .join('&');
  const body = Object.values(requestBody?.content['application/json']?.examples ?? {})[0]?.value;
  const url = `${baseUrl}${address}${query === '' || body !== undefined ? '' : `?${query}`}`;
  return html`<h4>With curl</h4>
    <pre tabindex="0"><code>${curlCommand({ method, url, hasKey: security.length > 0, body })}</code></pre>`;
};
