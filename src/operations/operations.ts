// The list of all operations. Routes, validation, limits, the OpenAPI document and the reference page are derived from it.
import { signIn } from './accounts/sign-in.ts'
import { getSession } from './accounts/get-session.ts'
import { signOut } from './accounts/sign-out.ts'
import { listSessions } from './accounts/list-sessions.ts'
import { endSession } from './accounts/end-session.ts'
import { readAccessLink } from './accounts/read-access-link.ts'
import { acceptAccessLink } from './accounts/accept-access-link.ts'
import { joinWorkspace } from './people/join-workspace.ts'
import { changePassword } from './accounts/change-password.ts'
import { beginTotp } from './accounts/begin-totp.ts'
import { confirmTotp } from './accounts/confirm-totp.ts'
import { removeTotp } from './accounts/remove-totp.ts'
import { listPeople } from './people/list-people.ts'
import { invitePerson } from './people/invite-person.ts'
import { changeRole } from './people/change-role.ts'
import { removePerson } from './people/remove-person.ts'
import { resetPassword } from './people/reset-password.ts'
import { removeInvitation } from './people/remove-invitation.ts'
import { activateCouponList } from './coupons/activate-coupon-list.ts'
import { addCoupons } from './coupons/add-coupons.ts'
import { addSuppression } from './suppressions/add-suppression.ts'
import { archiveCampaign } from './campaigns/archive-campaign.ts'
import { archiveCouponList } from './coupons/archive-coupon-list.ts'
import { archiveTemplate } from './templates/archive-template.ts'
import { cancelCampaign } from './delivery/cancel-campaign.ts'
import { createCampaign } from './campaigns/create-campaign.ts'
import { createCouponList } from './coupons/create-coupon-list.ts'
import { createTemplate } from './templates/create-template.ts'
import { eraseUser } from './users/erase-user.ts'
import { decideInDoubt } from './delivery/decide-in-doubt.ts'
import { deleteCampaign } from './campaigns/delete-campaign.ts'
import { deleteTemplate } from './templates/delete-template.ts'
import { deleteCoupons } from './coupons/delete-coupons.ts'
import { checkCampaign } from './delivery/check-campaign.ts'
import { estimateCampaign } from './delivery/estimate-campaign.ts'
import { exportEvents } from './exports/export-events.ts'
import { exportPreferenceChanges } from './exports/export-preference-changes.ts'
import { exportUsers } from './exports/export-users.ts'
import { fetchCampaignStats } from './statistics/fetch-campaign-stats.ts'
import { fetchDailyStats } from './statistics/fetch-daily-stats.ts'
import { getRecount } from './statistics/get-recount.ts'
import { startRecount } from './statistics/start-recount.ts'
import { fetchCouponList } from './coupons/fetch-coupon-list.ts'
import { dropParkedEntry } from './events/parked/drop-parked-entry.ts'
import { getParked } from './events/parked/get-parked.ts'
import { listParked } from './events/parked/list-parked.ts'
import { replayParkedEntry } from './events/parked/replay-parked-entry.ts'
import { listEvents } from './events/list-events.ts'
import { listEventNames } from './events/list-event-names.ts'
import { findRequest } from './events/find-request.ts'
import { getCampaign } from './campaigns/get-campaign.ts'
import { getImport } from './users/get-import.ts'
import { getTemplate } from './templates/get-template.ts'
import { getUser } from './users/get-user.ts'
import { importPeople } from './users/import-people.ts'
import { getAttention } from './overview/get-attention.ts'
import { getChanges } from './overview/get-changes.ts'
import { getSystem } from './overview/get-system.ts'
import { listAudit } from './audit/list-audit.ts'
import { listCampaigns } from './campaigns/list-campaigns.ts'
import { listCampaignMessages } from './delivery/messages/list-campaign-messages.ts'
import { listCouponLists } from './coupons/list-coupon-lists.ts'
import { listCouponUploads } from './coupons/list-coupon-uploads.ts'
import { listErasures } from './preferences/list-erasures.ts'
import { listCoupons } from './coupons/list-coupons.ts'
import { listMessages } from './delivery/messages/list-messages.ts'
import { listPreferenceChanges } from './preferences/list-preference-changes.ts'
import { listRuns } from './delivery/list-runs.ts'
import { listSuppressions } from './suppressions/list-suppressions.ts'
import { listTemplates } from './templates/list-templates.ts'
import { listTemplateVersions } from './templates/list-template-versions.ts'
import { listUsers } from './users/list-users.ts'
import { listUserSegments } from './segments/list-user-segments.ts'
import { listUserEvents } from './events/list-user-events.ts'
import type { Operation } from './operation.ts'
import { pauseCampaign } from './delivery/pause-campaign.ts'
import { previewTemplate } from './templates/preview-template.ts'
import { previewCampaign } from './delivery/preview-campaign.ts'
import { readPreferences } from './preferences/read-preferences.ts'
import { receiveFeedback } from './feedback/receive-feedback.ts'
import { removeSuppression } from './suppressions/remove-suppression.ts'
import { reportAudience } from './campaigns/report-audience.ts'
import { reportBounce } from './feedback/report-bounce.ts'
import { reportMessageEvents } from './campaigns/report-message-events.ts'
import { restoreCampaign } from './campaigns/restore-campaign.ts'
import { restoreTemplate } from './templates/restore-template.ts'
import { resumeCampaign } from './delivery/resume-campaign.ts'
import { searchTemplates } from './templates/search-templates.ts'
import { checkSender } from './senders/check-sender.ts'
import { createSender } from './senders/create-sender.ts'
import { deleteSender } from './senders/delete-sender.ts'
import { getSender } from './senders/get-sender.ts'
import { listSenders } from './senders/list-senders.ts'
import { updateSender } from './senders/update-sender.ts'
import { startCampaign } from './delivery/start-campaign.ts'
import { testCampaign } from './delivery/test-campaign.ts'
import { countSegment } from './segments/count-segment.ts'
import { createSegment } from './segments/create-segment.ts'
import { deleteSegment } from './segments/delete-segment.ts'
import { explainSegment } from './segments/explain-segment.ts'
import { getSegment } from './segments/get-segment.ts'
import { listSegments } from './segments/list-segments.ts'
import { updateSegment } from './segments/update-segment.ts'
import { trackEvents } from './events/track-events.ts'
import { trackUser } from './users/track-user.ts'
import { updateCampaign } from './campaigns/update-campaign.ts'
import { updateCouponList } from './coupons/update-coupon-list.ts'
import { updatePreferences } from './preferences/update-preferences.ts'
import { updateTemplate } from './templates/update-template.ts'
import { addCategory } from './workspaces/add-category.ts'
import { generateApiKey } from './workspaces/generate-api-key.ts'
import { getWorkspace } from './workspaces/get-workspace.ts'
import { listCategories } from './workspaces/list-categories.ts'
import { listKeys } from './workspaces/list-keys.ts'
import { listLimits } from './workspaces/list-limits.ts'
import { removeCategory } from './workspaces/remove-category.ts'
import { updateCategory } from './workspaces/update-category.ts'
import { updateWorkspace } from './workspaces/update-workspace.ts'

/** With the type of each, so that the dashboard knows what it takes and returns. */
export const OPERATIONS = [
  searchTemplates,
  listTemplates,
  getTemplate,
  listTemplateVersions,
  previewTemplate,
  createTemplate,
  updateTemplate,
  archiveTemplate,
  restoreTemplate,
  deleteTemplate,
  fetchCouponList,
  createCouponList,
  listCouponLists,
  updateCouponList,
  activateCouponList,
  archiveCouponList,
  addCoupons,
  listCoupons,
  listCouponUploads,
  deleteCoupons,
  trackEvents,
  trackUser,
  getUser,
  eraseUser,
  listErasures,
  listUsers,
  importPeople,
  getImport,
  exportUsers,
  exportEvents,
  listUserEvents,
  listEvents,
  listEventNames,
  findRequest,
  listParked,
  getParked,
  replayParkedEntry,
  dropParkedEntry,
  updatePreferences,
  readPreferences,
  listPreferenceChanges,
  exportPreferenceChanges,
  reportAudience,
  reportMessageEvents,
  createCampaign,
  listCampaigns,
  getCampaign,
  updateCampaign,
  archiveCampaign,
  restoreCampaign,
  deleteCampaign,
  checkCampaign,
  estimateCampaign,
  previewCampaign,
  testCampaign,
  startCampaign,
  pauseCampaign,
  resumeCampaign,
  cancelCampaign,
  listRuns,
  listCampaignMessages,
  listMessages,
  decideInDoubt,
  fetchCampaignStats,
  fetchDailyStats,
  startRecount,
  getRecount,
  createSender,
  listSenders,
  getSender,
  updateSender,
  deleteSender,
  checkSender,
  createSegment,
  listSegments,
  getSegment,
  updateSegment,
  deleteSegment,
  countSegment,
  explainSegment,
  listUserSegments,
  listSuppressions,
  addSuppression,
  removeSuppression,
  reportBounce,
  receiveFeedback,
  signIn,
  getSession,
  signOut,
  listSessions,
  endSession,
  readAccessLink,
  acceptAccessLink,
  joinWorkspace,
  changePassword,
  beginTotp,
  confirmTotp,
  removeTotp,
  listPeople,
  invitePerson,
  changeRole,
  removePerson,
  resetPassword,
  removeInvitation,
  getWorkspace,
  updateWorkspace,
  listLimits,
  listKeys,
  generateApiKey,
  listCategories,
  addCategory,
  updateCategory,
  removeCategory,
  listAudit,
  getChanges,
  getAttention,
  getSystem,
] as const satisfies readonly Operation[]
