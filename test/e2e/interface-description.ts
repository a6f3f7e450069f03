import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { CallOptions, TestGateway } from './start-test-gateway.ts';

/** The parts of `/openapi.json` that tests look at. */
export interface Description {
  openapi: string;
  info: { version: string; summary: string; description: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, DescribedCall>>;
  webhooks: Record<string, Record<string, DescribedCall>>;
  components: { schemas: Record<string, Schema>; headers: Record<string, object> };
}

export interface Schema {
  $ref?: string;
  description?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  anyOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  maximum?: number;
}

export interface DescribedCall {
  operationId: string;
  description: string;
  parameters: { name: string; in: string; description?: string; schema: Schema }[];
  requestBody?: { content: Content };
  responses: Record<string, { headers?: Record<string, object>; content?: Content }>;
}

type Content = Record<string, { schema?: Schema; examples?: Record<string, { value: unknown }> }>;

/** A schema of the description, followed to what it refers to. */
export const resolveSchema = ({ components }: Description, schema: Schema): Schema => {
  const name = schema.$ref?.replace('#/components/schemas/', '');
  return name === undefined ? schema : (components.schemas[name] ?? {});
};

type Compile = (schema: Schema) => ValidateFunction;

/** Of each description, as to compile a schema takes longer than most calls. */
const compilers = new WeakMap<object, Compile>();

/** Makes schemas that stand in the description ready to check values. */
export const createCompiler = ({ components }: Pick<Description, 'components'>): Compile => {
  const known = compilers.get(components);
  if (known !== undefined) return known;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'document', components });
  const compiled = new Map<string, ValidateFunction>();
  const compile: Compile = (schema) => {
    const text = JSON.stringify(schema).replaceAll('"#/', '"document#/');
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text) as object);
    compiled.set(text, validate);
    return validate;
  };
  compilers.set(components, compile);
  return compile;
};

/** An answer that is as described. */
export interface CheckedAnswer {
  /** The call and its status, such as `/v1/jobs 200`. */
  name: string;
  text: string;
  /** The member `id` of a JSON answer; empty where there is none. */
  id: string;
}

export type CheckAnswer = (
  template: string,
  options?: CallOptions & { path?: string; status?: number },
) => Promise<CheckedAnswer>;

/** Of HTTP itself. */
const plainHeaders =
  /^(?:connection|content-length|content-type|date|keep-alive|transfer-encoding|vary|x-accel-buffering)$/;

/**
 * Makes a real call and looks its answer up in the description: status, headers, type, schema, and that no member is
 * left undescribed. Throws Error with what is wrong.
 */
export const createAnswerCheck = (gateway: TestGateway, description: Description): CheckAnswer => {
  const compile = createCompiler(description);
  const namesIn = (schema: Schema): string[] => {
    const { properties, allOf } = resolveSchema(description, schema);
    return [...Object.keys(properties ?? {}), ...(allOf ?? []).flatMap(namesIn)];
  };
  const problemOf = (schema: Schema, body: Record<string, unknown>): string | null => {
    const validate = compile(schema);
    if (!validate(body)) return JSON.stringify(validate.errors);
    const known = new Set(namesIn(schema));
    const others = Object.keys(body).filter((name) => !known.has(name));
    return others.length === 0 ? null : `members that are not described: ${others.join(', ')}`;
  };

  return async (template, { path = template, status, ...options } = {}) => {
    const answer = await gateway.call(path, options);
    const text = await answer.text();
    const name = `${template} ${answer.status}`;
    const fail = (problem: string): never => {
      throw new Error(`${name} ${text.slice(0, 300)}: ${problem}`);
    };
    if (status !== undefined && answer.status !== status) fail(`the status is not ${status}`);
    const { body: sent, method = sent === undefined ? 'GET' : 'POST' } = options;
    const described = description.paths[template]?.[method.toLowerCase()]?.responses[answer.status];
    const known = Object.keys(described?.headers ?? {}).map((header) => header.toLowerCase());
    for (const header of answer.headers.keys())
      if (!plainHeaders.test(header) && !known.includes(header))
        fail(`the header ${header} is not described`);
    if (described === undefined) return fail('the status is not described');
    if (described.content === undefined && text === '') return { name, text, id: '' };
    const type = (answer.headers.get('content-type') ?? '').replace(/;.*/, '');
    const content = described.content?.[type];
    if (content === undefined) return fail(`${type} is not described`);
    if (type !== 'application/json') return { name, text, id: '' };
    const { schema } = content;
    if (schema === undefined) return fail('its JSON is not described');
    const body = JSON.parse(text) as Record<string, unknown>;
    const problem = problemOf(schema, body);
    if (problem !== null) fail(problem);
    return { name, text, id: typeof body['id'] === 'string' ? body['id'] : '' };
  };
};
