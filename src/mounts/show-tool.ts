import { isJsonObject } from '../kit/json.ts';
import type { ToolDefinition } from './check-tool.ts';
import type { ToolSettings } from './mount-settings.ts';

/**
 * Describes a tool as callers see it: in the operator's words where there are some, without the arguments that are fixed,
 * and with the operator's defaults.
 */
export const showTool = (definition: ToolDefinition, settings: ToolSettings | undefined): ToolDefinition => {
  if (settings === undefined) return definition;
  const { name, title, description, fixed, defaults } = settings;
  const { properties, required } = definition.inputSchema;
  const shown = Object.entries(isJsonObject(properties) ? properties : {})
    .filter(([argument]) => !Object.hasOwn(fixed, argument))
    .map(([argument, schema]) => {
      const hasDefault = Object.hasOwn(defaults, argument) && isJsonObject(schema);
      return [argument, hasDefault ? { ...schema, default: defaults[argument] ?? null } : schema] as const;
    });
  const given = new Set<unknown>(Object.keys({ ...fixed, ...defaults }));
  return {
    ...definition,
    name: name ?? definition.name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    inputSchema: {
      ...definition.inputSchema,
      ...(isJsonObject(properties) ? { properties: Object.fromEntries(shown) } : {}),
      ...(Array.isArray(required) ? { required: required.filter((argument) => !given.has(argument)) } : {}),
    },
  };
};
