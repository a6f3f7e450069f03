import type { Client } from '@modelcontextprotocol/sdk/client/index.js';

/** Returns a tool's answer as plain data. */
export const callTool = async (assistant: Client, name: string, input: Record<string, unknown>) => {
  const result = await assistant.callTool({ name, arguments: input });
  return {
    isError: result.isError === true,
    data: (result.structuredContent ?? {}) as Record<string, unknown>,
  };
};
