import type { Caller } from '../../accounts/authenticate.ts';
import type { OfferedTool } from '../../mounts/create-mounts.ts';
import type { Services } from '../call.ts';

/** Returns whether the key or the connection of a caller allows a tool. */
export const mayCallTool = (caller: Caller | null, { server, name }: OfferedTool): boolean =>
  caller?.scopes?.includes('tools') !== false &&
  (caller?.tools ?? []).every((list) => list.includes(server) || list.includes(name));

/** Returns the tools that a caller can call now: the same list as long as these are all. Rejects if the store fails. */
export const offeredTools = async (
  caller: Caller | null,
  { mounts }: Pick<Services, 'mounts'>,
): Promise<readonly OfferedTool[]> => {
  const offered = await mounts.offered();
  const isLimited = (caller?.tools ?? caller?.scopes) !== undefined;
  return isLimited ? offered.filter((tool) => mayCallTool(caller, tool)) : offered;
};
