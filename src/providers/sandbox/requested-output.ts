import type { Json, JsonObject } from '../../kit/json.ts';
import { ProviderError } from '../provider-error.ts';

/** The form of answer that a request's options ask for. */
export type RequestedOutput =
  | { form: 'text'; offeredTools: string[] }
  | { form: 'json_object' }
  | { form: 'json_schema'; schema: Json }
  | { form: 'call'; name: string; schema: Json; isLegacy: boolean };

interface FunctionDefinition {
  name: string;
  /** The JSON schema of the arguments. */
  schema: Json;
}

/** Reads the form of the answer. Throws ProviderError when the named function is not in the request. */
export const readRequestedOutput = (options: { [name: string]: Json }): RequestedOutput => {
  const tools = definitions(options['tools']).concat(definitions(options['functions']));
  return requiredCall(options, tools) ?? formatOf(options['response_format']) ?? offered(tools);
};

const offered = (tools: FunctionDefinition[]): RequestedOutput => ({
  form: 'text',
  offeredTools: tools.map((tool) => tool.name),
});

const requiredCall = (
  options: { [name: string]: Json },
  tools: FunctionDefinition[],
): RequestedOutput | null => {
  const choice = options['tool_choice'];
  if (choice === 'required') return callOf(tools, tools[0]?.name, false);
  const chosen = asObject(asObject(choice)?.['function']);
  if (chosen !== null) return callOf(tools, chosen['name'], false);
  const legacy = asObject(options['function_call']);
  return legacy === null ? null : callOf(tools, legacy['name'], true);
};

const callOf = (tools: FunctionDefinition[], name: Json | undefined, isLegacy: boolean): RequestedOutput => {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined)
    throw new ProviderError('the tool choice names no function of the request', {
      failure: 'fatal',
      code: 'invalid_parameter',
    });
  return { form: 'call', ...tool, isLegacy };
};

const formatOf = (format: Json | undefined): RequestedOutput | null => {
  const settings = asObject(format);
  if (settings?.['type'] === 'json_object') return { form: 'json_object' };
  if (settings?.['type'] !== 'json_schema') return null;
  return { form: 'json_schema', schema: asObject(settings['json_schema'])?.['schema'] ?? {} };
};

/** Function definitions in OpenAI's tool form, or in the legacy form without the wrapper. */
const definitions = (list: Json | undefined): FunctionDefinition[] => {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry) => {
    const definition = asObject(asObject(entry)?.['function']) ?? asObject(entry);
    const name = definition?.['name'];
    // Arguments are always an object, even if the schema does not say so.
    const schema = { type: 'object', ...asObject(definition?.['parameters']) };
    return typeof name === 'string' ? [{ name, schema }] : [];
  });
};

const asObject = (value: Json | undefined): JsonObject | null =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : null;
