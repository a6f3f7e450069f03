import type { Config } from '../../config/config.ts';
import type { EmbeddedLeadsConfig } from '../../leads/embedded/embedded-source.ts';
import type { PlaceConfig } from '../../leads/shared/shared-place.ts';

/** Returns the place of a fleet's profiles; null: they are in DATA_DIR; undefined: imported profiles are not searched. */
export const leadPlaceOf = ({ leads }: Config): PlaceConfig | null | undefined =>
  leads.sources.find((source): source is EmbeddedLeadsConfig => source.kind === 'embedded')?.place;
