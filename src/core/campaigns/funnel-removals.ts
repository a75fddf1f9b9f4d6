// Which removals each step of the delivery funnel takes away ("Delivery funnel and failure breakdown").

/**
 * Removal reasons that act before each step of the funnel, in order of the steps; any other reason acts after the last of them.
 */
export const FUNNEL_REMOVALS = {
  segment_after_uninstall: [
    'user_removed_due_to_uninstall',
    'user_removed_due_to_hard_bounce',
    'user_removed_due_to_complaint',
    'user_removed_due_to_opt_out',
  ],
  after_fc: ['user_removed_due_to_frequency_capping'],
  users_after_dup: ['user_removed_due_to_duplicate'],
} as const
