import type { JsonObject } from '../../kit/json.ts';
import type { Nano } from '../../kit/money.ts';

/** What is sold, as catalogues are told. Compact: every challenge carries it, and every buyer sends it back. */
export interface SaleDescription {
  /** Of the whole service: printable ASCII, at most 32 characters. */
  serviceName: string;
  /** At most 5, each printable ASCII of at most 32 characters. */
  tags: string[];
  /** One line. */
  description: string;
  /** Where it is sold over HTTP (GET): the path, below the base URL. */
  path: string;
  /** Where it is sold over MCP (Streamable HTTP): the path of the endpoint, and the tool. */
  mcpPath: string;
  toolName: string;
  /** JSON Schema of an object: the query parameters, which are the arguments of the tool too. */
  inputSchema: JsonObject;
  inputExample: JsonObject;
  outputExample: JsonObject;
  /** Of one request. */
  price: { least: Nano; most: Nano };
}
