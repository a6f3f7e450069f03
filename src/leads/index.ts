import { embeddedSource } from './embedded-source.ts';
import type { LeadSourceDefinition } from './lead-source-definition.ts';
import { httpSource } from './upstream/http-source.ts';

/** All lead sources. LEADS_SOURCES, settings, their documentation and the wiring follow from this list. */
export const leadSourceDefinitions = [embeddedSource, httpSource] as const;

export type AnyLeadSourceConfig = ReturnType<(typeof leadSourceDefinitions)[number]['read']>;

/** Throws TypeError for a kind that is not in the list. */
export const leadSourceOf = ({ kind }: { kind: string }): LeadSourceDefinition<AnyLeadSourceConfig> => {
  const definition = leadSourceDefinitions.find((one) => one.kind === kind);
  if (definition === undefined) throw new TypeError(`there is no lead source ${kind}`);
  return definition;
};
