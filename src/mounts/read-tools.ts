import { setImmediate } from 'node:timers/promises';
import { isJsonObject } from '../kit/json.ts';
import { checkTool, readToolName, refused, type ListedTool } from './check-tool.ts';
import type { MountConfig, ToolSettings } from './mount-settings.ts';
import { mayOffer, shownName } from './public-name.ts';

/** The most characters of all tools of a server. */
const maxCharacters = 1024 ** 2;

/**
 * Reads the list of a server, and checks each tool by itself, in a turn of the event loop of its own. A name that two tools
 * have is nobody's. `known`: the list before. `missing`: names in the settings of the server that it does not list, of tools
 * and of their arguments.
 */
export const readTools = async (
  listed: readonly unknown[],
  config: MountConfig,
  known: ReadonlyMap<string, ListedTool> = new Map(),
): Promise<{ found: ReadonlyMap<string, ListedTool>; missing: string[] }> => {
  const { allow, hide, prices, harmless, tools } = config;
  let characters = 0;
  const found = new Map<string, ListedTool>();
  const names = new Set<string>();
  for (const tool of listed) {
    const name = readToolName(tool, config);
    if (name === null || !isJsonObject(tool)) continue;
    const isTwice = names.has(name);
    names.add(name);
    if (!mayOffer(config, name)) continue;
    await setImmediate();
    const checked = isTwice
      ? refused(name, 'The server lists two tools of this name.')
      : checkTool(tool, name, known.get(name));
    characters += JSON.stringify(checked).length;
    found.set(
      name,
      characters > maxCharacters
        ? refused(name, `The tools of this server have more than ${maxCharacters} characters in all.`)
        : checked,
    );
  }
  const named = Map.groupBy([...found.keys()], (name) => shownName(config, name));
  for (const [shown, sharing] of named)
    if (sharing.length > 1)
      for (const name of sharing)
        found.set(name, refused(name, `Two tools of this server have the name ${shown} for callers.`));
  const set = new Set([...prices.keys(), ...harmless, ...(allow ?? []), ...hide, ...tools.keys()]);
  const missing = [...set].filter((name) => !names.has(name));
  return { found, missing: [...missing, ...[...tools].flatMap((one) => missingArguments(one, found))] };
};

const missingArguments = (
  [name, { fixed, defaults }]: readonly [string, ToolSettings],
  found: ReadonlyMap<string, ListedTool>,
): string[] => {
  const definition = found.get(name)?.definition ?? null;
  if (definition === null) return [];
  const { properties = null } = definition.inputSchema;
  return Object.keys({ ...fixed, ...defaults })
    .filter((argument) => !isJsonObject(properties) || !Object.hasOwn(properties, argument))
    .map((argument) => `${name}.${argument}`);
};
