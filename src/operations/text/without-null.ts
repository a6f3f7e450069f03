import type { Json, JsonObject } from '../../kit/json.ts';

/** Returns the members without those that are absent or null. */
export const withoutNull = (members: { [name: string]: Json | undefined }): JsonObject =>
  Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) =>
      value === undefined || value === null ? [] : [[name, value]],
    ),
  );
