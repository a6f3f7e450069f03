import { declareExtensions } from '../../payments/extensions/declared-extensions.ts';
import type { SaleDescription } from '../../payments/extensions/sale-description.ts';
import type { Extensions, ResourceInfo } from '../../payments/core/wire.ts';
import type { DeclaredFor } from './x402-record.ts';

/** One sale over one transport. */
export interface SoldOver {
  /** Names the operation. */
  sale: string;
  transport: 'rest' | 'mcp';
}

export interface SoldResource extends SoldOver {
  /** Describes the resource as it is now. */
  info(): ResourceInfo;
  /** What its challenges declare. */
  extensions: Extensions;
}

export interface SoldResources {
  all: readonly SoldResource[];
  /** Throws Error for what is not sold. */
  find(over: SoldOver): SoldResource;
  declaredFor: DeclaredFor;
}

/** The MCP server, below the base URL. Catalogues tell its tools apart by name. */
const mcpPath = '/mcp';

export const createSoldResources = (
  sales: readonly SaleDescription[],
  publicUrl: () => string,
): SoldResources => {
  const all = sales.flatMap((sale): SoldResource[] => {
    const { name, path, serviceName, tags } = sale;
    const declared = declareExtensions(sale);
    const over = (transport: SoldOver['transport'], urlPath: string): SoldResource => ({
      sale: name,
      transport,
      info: () => ({
        url: `${publicUrl()}${urlPath}`,
        description: sale.description(),
        mimeType: 'application/json',
        serviceName,
        tags,
      }),
      extensions: declared[transport],
    });
    return [over('rest', path), over('mcp', mcpPath)];
  });
  return {
    all,
    find: ({ sale, transport }) => {
      const found = all.find((one) => one.sale === sale && one.transport === transport);
      if (found === undefined) throw new Error(`${sale} is not sold over ${transport}`);
      return found;
    },
    // All tools have one address. The description, which is stored too, tells them apart as long as it is the same.
    declaredFor: ({ url, description }) => {
      const there = all
        .map(({ info, extensions }) => ({ ...info(), extensions }))
        .filter((one) => one.url === url);
      return (there.find((one) => one.description === description) ?? there[0])?.extensions ?? null;
    },
  };
};
